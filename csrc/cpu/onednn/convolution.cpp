#include <optional>

#include "core/blocking.h"
#include "core/parallel.h"
#include "core/prepared.h"
#include "cpu/onednn/onednn.h"
#include "cpu/onednn/support.h"

namespace mashal::onednn {

using memory = dnnl::memory;
using tag = memory::format_tag;

namespace {

// One tensor of a convolution: the layout it has, the layout the primitive wants, and the way between them.
struct Operand {
    memory::desc own, wanted;
    dnnl::reorder reorder;  // unset when the two are equal

    bool direct() const { return own == wanted; }
    void prepare(memory::desc own_desc, memory::desc wanted_desc, bool is_output) {
        own = std::move(own_desc);
        wanted = std::move(wanted_desc);
        if (direct()) return;
        const auto& engine = cpu_engine();
        const auto& from = is_output ? wanted : own;
        const auto& to = is_output ? own : wanted;
        reorder = dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to, user_scratchpad()));
    }
    size_t staging_size() const { return direct() ? 0 : wanted.get_size(); }
};

template <class Primitive>
struct Entry {
    typename Primitive::primitive_desc desc;
    Primitive primitive;
    Operand input, weight, output;
};
using ForwardEntry = Entry<dnnl::convolution_forward>;
using BackwardDataEntry = Entry<dnnl::convolution_backward_data>;
using BackwardWeightEntry = Entry<dnnl::convolution_backward_weights>;

memory::dims dims(IntSpan v) { return {v.begin(), v.end()}; }

memory::desc tensor_desc(const Tensor& t) { return {dims(t.sizes()), data_type(t.dtype()), dims(t.strides())}; }

// (out, in / groups, ...) as (groups, out / groups, in / groups, ...).
memory::desc weight_desc(const Tensor& w, int64_t groups) {
    memory::dims sizes = dims(w.sizes()), strides = dims(w.strides());
    if (groups > 1) {
        sizes[0] /= groups;
        sizes.insert(sizes.begin(), groups);
        strides.insert(strides.begin(), strides[0] * sizes[1]);
    }
    return {sizes, data_type(w.dtype()), strides};
}

tag channels_last_tag(int64_t dim) { return dim == 3 ? tag::nwc : dim == 4 ? tag::nhwc : tag::ndhwc; }

tag plain_tag(int64_t dim) { return dim == 3 ? tag::ncw : dim == 4 ? tag::nchw : tag::ncdhw; }

bool is_channels_last(const Tensor& t) {
    const int64_t d = t.dim();
    return !t.is_contiguous() && t.stride(1) == 1 &&
           (d == 3 || is_contiguous_as(t, d == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d));
}

struct Layouts {
    memory::desc input, weight, output;
};

// Channels-last tensors are computed on as they are. Contiguous ones are best brought into the blocked layout that
// oneDNN prefers, except that for up to four channels (images) the kernels read the plain layout directly. The gradient
// of such an input has a fast path only there.
Layouts choose_layouts(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& output,
                       bool gradient_of_input) {
    const int64_t d = input.dim();
    tag in = tag::any, out = tag::any;
    const bool few = g.groups == 1 && input.size(1) <= 4;
    if (few && gradient_of_input)
        in = out = plain_tag(d);
    else if (is_channels_last(input) || is_channels_last(output))
        in = out = channels_last_tag(d);
    else if (few)
        in = plain_tag(d);
    const auto type = data_type(input.dtype());
    memory::dims w = dims(weight.sizes());
    if (g.groups > 1) {
        w[0] /= g.groups;
        w.insert(w.begin(), g.groups);
    }
    return {{dims(input.sizes()), type, in}, {w, type, tag::any}, {dims(output.sizes()), type, out}};
}

Key make_key(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& output, bool bias) {
    Key key{input.dim(), static_cast<int64_t>(input.dtype()), g.groups, bias, num_threads()};
    for (IntSpan part : {IntSpan(input.sizes()), IntSpan(input.strides()), IntSpan(weight.sizes()),
                         IntSpan(weight.strides()), IntSpan(output.sizes()), IntSpan(output.strides()),
                         IntSpan(g.stride), IntSpan(g.padding), IntSpan(g.dilation)})
        key.insert(key.end(), part.begin(), part.end());
    return key;
}

struct Window {
    memory::dims stride, dilation, before, after;
};

// oneDNN counts dilation from 0, and wants the padding after chosen so that the output size comes out.
Window make_window(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& output) {
    Window w{dims(g.stride), dims(g.dilation), dims(g.padding), {}};
    for (size_t i = 0; i < w.stride.size(); i++) {
        const auto d = static_cast<int64_t>(i) + 2;
        w.after.push_back((output.size(d) - 1) * w.stride[i] + w.dilation[i] * (weight.size(d) - 1) + 1 -
                          input.size(d) - w.before[i]);
        w.dilation[i] -= 1;
    }
    return w;
}

auto describe_forward(const Layouts& l, const memory::desc* bias, const Window& w) {
    const auto kind = dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    using Desc = dnnl::convolution_forward::primitive_desc;
    if (bias != nullptr)
        return Desc(cpu_engine(), kind, algorithm, l.input, l.weight, *bias, l.output, w.stride, w.dilation, w.before,
                    w.after, user_scratchpad());
    return Desc(cpu_engine(), kind, algorithm, l.input, l.weight, l.output, w.stride, w.dilation, w.before, w.after,
                user_scratchpad());
}

std::shared_ptr<const ForwardEntry> forward_entry(const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                                                  bool bias, const Tensor& output) {
    static Cache<ForwardEntry> cache;
    return cache.get(make_key(g, input, weight, output, bias), [&] {
        auto e = std::make_shared<ForwardEntry>();
        const Layouts l = choose_layouts(g, input, weight, output, false);
        const memory::desc bias_desc({weight.size(0)}, data_type(input.dtype()), tag::a);
        e->desc = describe_forward(l, bias ? &bias_desc : nullptr, make_window(g, input, weight, output));
        e->primitive = dnnl::convolution_forward(e->desc);
        e->input.prepare(tensor_desc(input), e->desc.src_desc(), false);
        e->weight.prepare(weight_desc(weight, g.groups), e->desc.weights_desc(), false);
        e->output.prepare(tensor_desc(output), e->desc.dst_desc(), true);
        return e;
    });
}

std::shared_ptr<const BackwardDataEntry> backward_data_entry(const ConvGeometry& g, const Tensor& input,
                                                             const Tensor& weight, const Tensor& output) {
    static Cache<BackwardDataEntry> cache;
    return cache.get(make_key(g, input, weight, output, false), [&] {
        auto e = std::make_shared<BackwardDataEntry>();
        const Layouts l = choose_layouts(g, input, weight, output, true);
        const Window w = make_window(g, input, weight, output);
        const auto hint = describe_forward(l, nullptr, w);
        e->desc = dnnl::convolution_backward_data::primitive_desc(cpu_engine(), dnnl::algorithm::convolution_direct,
                                                                  l.input, l.weight, l.output, w.stride, w.dilation,
                                                                  w.before, w.after, hint, user_scratchpad());
        e->primitive = dnnl::convolution_backward_data(e->desc);
        e->input.prepare(tensor_desc(input), e->desc.diff_src_desc(), true);
        e->weight.prepare(weight_desc(weight, g.groups), e->desc.weights_desc(), false);
        e->output.prepare(tensor_desc(output), e->desc.diff_dst_desc(), false);
        return e;
    });
}

std::shared_ptr<const BackwardWeightEntry> backward_weight_entry(const ConvGeometry& g, const Tensor& input,
                                                                 const Tensor& weight, const Tensor& output) {
    static Cache<BackwardWeightEntry> cache;
    return cache.get(make_key(g, input, weight, output, false), [&] {
        auto e = std::make_shared<BackwardWeightEntry>();
        const Layouts l = choose_layouts(g, input, weight, output, false);
        const Window w = make_window(g, input, weight, output);
        const auto hint = describe_forward(l, nullptr, w);
        e->desc = dnnl::convolution_backward_weights::primitive_desc(cpu_engine(), dnnl::algorithm::convolution_direct,
                                                                     l.input, l.weight, l.output, w.stride, w.dilation,
                                                                     w.before, w.after, hint, user_scratchpad());
        e->primitive = dnnl::convolution_backward_weights(e->desc);
        e->input.prepare(tensor_desc(input), e->desc.src_desc(), false);
        e->weight.prepare(weight_desc(weight, g.groups), e->desc.diff_weights_desc(), true);
        e->output.prepare(tensor_desc(output), e->desc.diff_dst_desc(), false);
        return e;
    });
}

void run_reorder(const Operand& o, void* from, void* to, bool is_output) {
    const auto& engine = cpu_engine();
    o.reorder.execute(cpu_stream(), {{DNNL_ARG_FROM, memory(is_output ? o.wanted : o.own, engine, from)},
                                     {DNNL_ARG_TO, memory(is_output ? o.own : o.wanted, engine, to)}});
}

// An operand in the layout the primitive wants: the tensor's own memory, or a staging copy.
class Staged {
public:
    Staged(const Operand& o, void* data, bool is_output)
        : operand_(o), data_(data), staging_(o.staging_size()), is_output_(is_output) {
        if (!o.direct() && !is_output) run_reorder(o, data, staging_.data(), false);
    }
    memory get() const { return memory(operand_.wanted, cpu_engine(), operand_.direct() ? data_ : staging_.data()); }
    void finish() const {
        if (is_output_ && !operand_.direct()) run_reorder(operand_, staging_.data(), data_, true);
    }

private:
    const Operand& operand_;
    void* data_;
    Buffer staging_;
    bool is_output_;
};

// A weight in the layout of a primitive, kept with the storage it was made from.
struct PreparedWeight final : RefCounted {
    PreparedWeight(const memory::desc& from, const memory::desc& to, int64_t at)
        : source(from), layout(to), offset(at), buffer(to.get_size()) {}
    const memory::desc source, layout;
    const int64_t offset;
    const Buffer buffer;
};

Ref<PreparedWeight> prepared_weight(const Tensor& weight, const Operand& o) {
    return prepared_or_made<PreparedWeight>(
        *weight->storage,
        [&](const PreparedWeight& kept) {
            return kept.source == o.own && kept.layout == o.wanted && kept.offset == weight->offset;
        },
        [&] {
            Ref<PreparedWeight> made = make_ref<PreparedWeight>(o.own, o.wanted, weight->offset);
            run_reorder(o, weight.data(), made->buffer.data(), false);
            cpu_stream().wait();
            return made;
        });
}

template <class E>
void execute(const E& entry, std::unordered_map<int, memory> args) {
    const auto desc = entry.desc.scratchpad_desc();
    const Buffer scratch(desc.get_size());
    args[DNNL_ARG_SCRATCHPAD] = memory(desc, cpu_engine(), scratch.data());
    entry.primitive.execute(cpu_stream(), args);
}

bool is_large(const Tensor& output, const Tensor& weight) {
    return output.numel() * (weight.numel() / weight.size(0)) > 1000000;
}

}  // namespace

bool convolution_supported(const Tensor& input, const Tensor& weight, const Tensor& output) {
    const DType t = input.dtype();
    if (t != DType::F32 && !(is_half(t) && fast_half(t))) return false;
    return input.dim() >= 3 && input.dim() <= 5 && input.numel() > 0 && weight.numel() > 0 && output.numel() > 0;
}

void convolution_forward(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& output, bool keep_weight) {
    match_threads();
    const auto entry = forward_entry(g, input, weight, bias.defined(), output);
    void *x = input.data(), *w = weight.data(), *y = output.data(), *b = bias ? bias.data() : nullptr;
    AllowThreads threads(is_large(output, weight));
    const Staged input_s(entry->input, x, false), output_s(entry->output, y, true);
    Ref<PreparedWeight> kept;
    std::optional<Staged> weight_s;
    if (keep_weight && !entry->weight.direct() && weight->storage->is_private())
        kept = prepared_weight(weight, entry->weight);
    else
        weight_s.emplace(entry->weight, w, false);
    std::unordered_map<int, memory> args{
        {DNNL_ARG_SRC, input_s.get()},
        {DNNL_ARG_WEIGHTS, kept ? memory(kept->layout, cpu_engine(), kept->buffer.data()) : weight_s->get()},
        {DNNL_ARG_DST, output_s.get()}};
    if (b != nullptr) args[DNNL_ARG_BIAS] = memory(entry->desc.bias_desc(), cpu_engine(), b);
    execute(*entry, std::move(args));
    output_s.finish();
    cpu_stream().wait();
}

void convolution_backward(const ConvGeometry& g, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Tensor& grad_input, const Tensor& grad_weight) {
    match_threads();
    std::shared_ptr<const BackwardDataEntry> data;
    std::shared_ptr<const BackwardWeightEntry> weights;
    if (grad_input) data = backward_data_entry(g, grad_input, weight, grad_output);
    if (grad_weight) weights = backward_weight_entry(g, input, grad_weight, grad_output);
    void* gy = grad_output.data();
    void *x = input ? input.data() : nullptr, *w = weight ? weight.data() : nullptr;
    void *gx = grad_input ? grad_input.data() : nullptr, *gw = grad_weight ? grad_weight.data() : nullptr;
    AllowThreads threads(is_large(grad_output, grad_weight ? grad_weight : weight));
    const Staged grad_s(data ? data->output : weights->output, gy, false);
    if (data) {
        const Staged weight_s(data->weight, w, false), out_s(data->input, gx, true);
        execute(
            *data,
            {{DNNL_ARG_DIFF_DST, grad_s.get()}, {DNNL_ARG_WEIGHTS, weight_s.get()}, {DNNL_ARG_DIFF_SRC, out_s.get()}});
        out_s.finish();
    }
    if (weights) {
        const Staged input_s(weights->input, x, false), out_s(weights->weight, gw, true);
        const bool same = data && data->output.wanted == weights->output.wanted;
        std::unique_ptr<Staged> own;
        if (data && !same) own = std::make_unique<Staged>(weights->output, gy, false);
        execute(*weights, {{DNNL_ARG_DIFF_DST, own ? own->get() : grad_s.get()},
                           {DNNL_ARG_SRC, input_s.get()},
                           {DNNL_ARG_DIFF_WEIGHTS, out_s.get()}});
        out_s.finish();
    }
    cpu_stream().wait();
}

}  // namespace mashal::onednn
