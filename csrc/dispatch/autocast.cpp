#include "dispatch/autocast.h"

#include <unordered_map>

#include "autograd/node.h"

namespace mashal {

AutocastState& autocast_state() {
    static thread_local AutocastState state;
    return state;
}

namespace {

struct CachedCast {
    Tensor leaf, cast;
    uint32_t version;
};
using Cache = std::unordered_map<TensorObj*, CachedCast>;
// Not destroyed with its thread: tensors may only be dropped under the interpreter's lock.
thread_local Cache* g_cache = nullptr;

Tensor cast_leaf(const Tensor& t, DType to) {
    if (g_cache == nullptr) g_cache = new Cache;
    auto it = g_cache->find(t.get());
    bool records = grad_modes().grad;
    if (it != g_cache->end()) {
        CachedCast& c = it->second;
        // A cast made without a record serves only calls that are not recorded either.
        if (c.version == t->version() && c.cast.dtype() == to && (!records || c.cast.requires_grad())) return c.cast;
        g_cache->erase(it);
    }
    Tensor cast = call_op("_to_copy", t, to);
    g_cache->emplace(t.get(), CachedCast{t, cast, static_cast<uint32_t>(t->version())});
    return cast;
}

}  // namespace

void clear_autocast_cache() {
    if (g_cache == nullptr) return;
    Cache dropped = std::move(*g_cache);
    g_cache->clear();
}

bool Autocast::eligible(const Tensor& t) const {
    return t && t.device().type == device_ && is_floating(t.dtype()) && t.dtype() != DType::F64;
}

void Autocast::see(const Tensor& t) {
    const AutocastState& state = autocast_state();
    if (!found_) {
        if (!t || !state.enabled[static_cast<int>(t.device().type)]) return;
        found_ = true;
        device_ = t.device().type;
        to_ = policy_ == CastPolicy::Float32 ? DType::F32 : state.dtype[static_cast<int>(device_)];
    }
    if (policy_ == CastPolicy::Promote && eligible(t) && t.dtype() != to_) to_ = DType::F32;
}

Tensor Autocast::cast(const Tensor& t) const {
    if (!found_ || !eligible(t) || t.dtype() == to_) return t;
    const AutocastState& state = autocast_state();
    bool is_weight = t.dtype() == DType::F32 && t->requires_grad && !t->view_base && is_leaf(t);
    if (state.cache && is_weight && to_ == state.dtype[static_cast<int>(device_)]) return cast_leaf(t, to_);
    return call_op("_to_copy", t, to_);
}

void autocast_arguments(Call& call, CastPolicy policy) {
    Autocast autocast(policy);
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        const Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) autocast.see(v.tensor());
        if (v.tag() == Value::Tag::Tensors)
            for (const Tensor& t : v.tensor_list()) autocast.see(t);
    }
    for (uint32_t mask = call.op.tensor_args; mask; mask &= mask - 1) {
        Value& v = call.args[static_cast<size_t>(__builtin_ctz(mask))];
        if (v.is_tensor()) {
            Tensor t = v.tensor();
            if (Tensor cast = autocast.cast(t); !cast.is_same(t)) v = Value(std::move(cast));
        } else if (v.tag() == Value::Tag::Tensors) {
            SmallVec<Tensor, 4> items;
            for (const Tensor& t : v.tensor_list()) items.push_back(autocast.cast(t));
            v = Value::tensors(std::move(items));
        }
    }
}

}  // namespace mashal
