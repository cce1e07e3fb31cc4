// Calls with opaque arguments (cpu/layout.h): ops that follow the memory run on the channels-last tensors behind them.
#include "dispatch/opaque.h"

#include <unordered_map>

#include "cpu/copy.h"
#include "cpu/layout.h"

namespace mashal {

namespace {

template <class F>
void for_tensors(const Call& call, F&& f) {
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        const Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) {
            f(v.tensor());
        } else if (v.tag() == Value::Tag::Tensors) {
            for (const Tensor& t : v.tensor_list())
                if (t) f(t);
        }
    }
}

// Whether the dimensions lie in the order of the shape, so that PyTorch's rules give a contiguous result.
bool in_order(const Tensor& t) {
    if (t.is_contiguous()) return true;
    int64_t inner = 0;
    for (int64_t d = t.dim() - 1; d >= 0; d--) {
        if (t.size(d) == 1 || t.stride(d) == 0) continue;
        if (t.stride(d) < inner) return false;
        inner = t.stride(d);
    }
    return true;
}

// An image beside one that lies channels-last: same batch and extent.
bool is_beside(const Tensor& t, const Tensor& image) {
    if (t.dim() != image.dim() || t.size(0) != image.size(0) || t.numel() == 0) return false;
    for (int64_t d = 2; d < t.dim(); d++)
        if (t.size(d) != image.size(d)) return false;
    return true;
}

Tensor laid_out_last(const Tensor& t) {
    const Tensor out = empty_strided(t.sizes(), channels_last_strides(t.sizes()), t.dtype());
    copy_into(out, t);
    return out;
}

// What a call is run on instead of its arguments. Taken once: another thread may have the elements of an opaque tensor
// written in order meanwhile.
class Exchange {
public:
    explicit Exchange(const Call& call) : follow_(call.op.layout == Layout::Follow) {
        able_ = call.op.layout != Layout::Logical && !call.out_given;
        for (const Value& v : call.args)  // a layout the user asks for must be seen in the strides
            able_ &= v.tag() != Value::Tag::MemoryFormat || v.memory_format() == MemoryFormat::Preserve;
        if (able_ && call.in_place) {  // first, before anything else holds its memory
            target_ = physical_for_writing(call.out[0]);
            able_ = target_.defined();
        }
        for_tensors(call, [&](const Tensor& t) {
            if (!able_) return;
            if (!is_opaque(t)) {
                able_ = t.device().is_cpu() && in_order(t);
            } else if (Tensor behind = physical(t)) {
                if (!image_) image_ = behind;
                shown_.push_back(t);
                behind_.push_back(std::move(behind));
            } else {
                able_ = false;
            }
        });
    }
    // Whether the call can run on what lies behind its arguments, and its results can then be shown as contiguous.
    bool able() const { return able_ && image_.defined(); }
    const Tensor& target() const { return target_; }

    Tensor operator()(const Tensor& t) const {
        for (size_t i = 0; i < shown_.size(); i++)
            if (shown_[i].is_same(t)) return behind_[i];
        return follow_ && is_beside(t, image_) && !has_self_overlap(t) ? laid_out_last(t) : t;
    }

private:
    bool follow_, able_ = false;
    Tensor target_, image_;  // image: the first opaque argument
    SmallVec<Tensor, 4> shown_, behind_;
};

// ---- calls that are only noted ----
std::unordered_map<std::string, OpaqueFn>& deferring() {
    static std::unordered_map<std::string, OpaqueFn> map;
    return map;
}

// Makes an image the result: in an in-place call the target becomes it.
bool give(Call& call, const Tensor& like, Image image) {
    if (call.in_place) return become(call.out[0], std::move(image));
    call.out.push_back(show_image(like, std::move(image)));
    return true;
}

bool clamp_deferred(Call& call, float low, float high) {
    const Tensor t = call.tensor(0);
    Image image = image_of(t);
    if (!image.tail.any() || image.tail.clamps || call.out_given) return false;
    image.tail.low = low;
    image.tail.high = high;
    image.tail.clamps = true;
    return give(call, t, std::move(image));
}

bool relu_deferred(Call& call) { return clamp_deferred(call, 0.0f, std::numeric_limits<float>::infinity()); }

bool hardtanh_deferred(Call& call) {
    const double low = call.f64(1), high = call.f64(2);
    return low <= high && clamp_deferred(call, static_cast<float>(low), static_cast<float>(high));
}

bool add_deferred(Call& call) {
    const Tensor a = call.tensor(0), b = call.tensor(1);
    if (!a || !b || call.out_given || call.args[2].real() != 1.0 || call.args[2].tag() == Value::Tag::Complex)
        return false;
    if (a.dtype() != DType::F32 || b.dtype() != DType::F32 || !(a.sizes() == b.sizes()) || a->storage == b->storage)
        return false;
    for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
        Image image = image_of(first);
        if (!image.tail.takes_sum()) continue;
        const Tensor beside = physical(second);
        if (!beside) continue;
        image.tail.beside = beside->storage;
        return give(call, first, std::move(image));
    }
    return false;
}

const OpaqueRegistration r_relu{"relu", relu_deferred}, r_hardtanh{"hardtanh", hardtanh_deferred},
    r_add{"add", add_deferred};

}  // namespace

OpaqueRegistration::OpaqueRegistration(const char* name, OpaqueFn f) { deferring()[name] = f; }

void Primitive::run_opaque(Call& call) const {
    if (auto it = deferring().find(name); it != deferring().end() && it->second(call)) return;
    const Exchange exchange(call);
    if (!exchange.able()) {
        for_tensors(call, [](const Tensor& t) { t.data(); });
        for (const Tensor& t : call.out) t.data();
        return run_family(call);
    }
    Call inner(*this);
    if (call.in_place) {
        inner.in_place = true;
        inner.out.push_back(exchange.target());
    }
    for (const Value& v : call.args) {
        if (v.is_tensor()) {
            inner.args.push_back(Value(exchange(v.tensor())));
        } else if (v.tag() == Value::Tag::Tensors) {
            SmallVec<Tensor, 4> items;
            for (const Tensor& t : v.tensor_list()) items.push_back(t ? exchange(t) : t);
            inner.args.push_back(Value::tensors(std::move(items)));
        } else {
            inner.args.push_back(v);
        }
    }
    run_family(inner);
    if (call.in_place) return;
    for (const Tensor& t : inner.out) {
        const Tensor shown = hide_layout(t);
        call.out.push_back(shown.is_contiguous() ? shown : contiguous(shown));
    }
}

}  // namespace mashal
