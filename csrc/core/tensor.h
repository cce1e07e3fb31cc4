// The tensor: geometry over a storage. Autograd state hangs off it (csrc/autograd), opaque here.
#pragma once
#include <memory>

#include "core/device.h"
#include "core/dtype.h"
#include "core/refcount.h"
#include "core/small_vec.h"
#include "core/storage.h"

namespace mashal {

class TensorObj;

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// What a result will look like. Empty strides mean contiguous.
struct TensorSpec {
    IntVec sizes;
    DType dtype = DType::F32;
    Device device;
    IntVec strides;
    bool opaque = false;  // the strides (channels-last) are the memory's alone: the tensor shows contiguous ones
};

struct AutogradMetaBase {
    virtual ~AutogradMetaBase() = default;
};

// A version counter of its own, for `.data`, which shares memory but not versions.
struct OwnVersion final : RefCounted {
    uint32_t value = 0;
};

// How a view came about, which decides whether writing through it can be recorded.
enum class ViewOrigin : uint8_t { Recorded, NoGrad, Inference, OneOfMany, CustomFunction };

class Tensor {
public:
    Tensor() = default;
    Tensor(std::nullptr_t) {}
    explicit Tensor(TensorObj* p) : p_(p) {}
    explicit Tensor(Ref<TensorObj> p) : p_(std::move(p)) {}

    bool defined() const { return static_cast<bool>(p_); }
    explicit operator bool() const { return defined(); }
    TensorObj* get() const { return p_.get(); }
    TensorObj* operator->() const { return p_.get(); }
    TensorObj* release() { return p_.release(); }
    static Tensor steal(TensorObj* p) { return Tensor(Ref<TensorObj>::steal(p)); }
    bool is_same(const Tensor& o) const { return p_.get() == o.p_.get(); }

    inline DType dtype() const;
    inline Device device() const;
    inline int64_t dim() const;
    inline const IntVec& sizes() const;
    inline const IntVec& strides() const;
    inline int64_t size(int64_t d) const;    // d in [0, dim)
    inline int64_t stride(int64_t d) const;  // d in [0, dim)
    inline int64_t numel() const;
    inline bool is_contiguous() const;
    // The first element. `T` must have the item size of the dtype (checked in debug builds only).
    template <class T = void>
    T* data() const;
    inline bool requires_grad() const;

private:
    Ref<TensorObj> p_;
};

class TensorObj final : public RefCounted {
public:
    Ref<Storage> storage;
    int64_t offset = 0;  // in elements
    IntVec sizes;
    IntVec strides;
    int64_t numel = 1;
    DType dtype = DType::F32;
    bool contiguous = true;
    bool requires_grad = false;      // set by the user on a leaf, or because a grad_fn exists
    bool is_inference = false;       // made under inference_mode
    bool is_wrapped_number = false;  // promotes like a Python number
    ViewOrigin view_origin = ViewOrigin::Recorded;
    uint32_t view_version = 0;  // version at which a view's grad_fn was last in step with its base
    Tensor view_base;           // the tensor this one is a differentiable view of
    Ref<OwnVersion> own_version;
    std::unique_ptr<AutogradMetaBase> autograd;

    Device device() const { return storage->device(); }
    uint32_t version() const { return own_version ? own_version->value : storage->version; }
    void bump_version() {
        storage->contents_changed();
        if (own_version)
            own_version->value++;
        else
            storage->version++;
    }
    // Recomputes numel and contiguous after sizes or strides changed.
    void geometry_changed();

    static void* operator new(size_t n);
    static void operator delete(void* p) noexcept;

private:
    ~TensorObj() override = default;
};

inline DType Tensor::dtype() const { return p_->dtype; }
inline Device Tensor::device() const { return p_->device(); }
inline int64_t Tensor::dim() const { return static_cast<int64_t>(p_->sizes.size()); }
inline const IntVec& Tensor::sizes() const { return p_->sizes; }
inline const IntVec& Tensor::strides() const { return p_->strides; }
inline int64_t Tensor::size(int64_t d) const { return p_->sizes[static_cast<size_t>(d)]; }
inline int64_t Tensor::stride(int64_t d) const { return p_->strides[static_cast<size_t>(d)]; }
inline int64_t Tensor::numel() const { return p_->numel; }
inline bool Tensor::is_contiguous() const { return p_->contiguous; }
template <class T>
T* Tensor::data() const {
    return reinterpret_cast<T*>(static_cast<char*>(p_->storage->data()) + p_->offset * item_size(p_->dtype));
}
inline bool Tensor::requires_grad() const { return p_->requires_grad; }

// ---- limits ----
inline constexpr size_t kMaxDims = 64;
// Bytes of the widest type still fit 63 bits.
inline constexpr int64_t kMaxNumel = int64_t{1} << 58;

// ---- making tensors (no autograd) ----
// Number of elements; raises when it does not fit 63 bits or a size is negative.
int64_t checked_numel(std::string_view op, IntSpan sizes);
IntVec contiguous_strides(IntSpan sizes);
// Dense strides of a 4-d (NHWC) or 5-d (NDHWC) channels-last tensor.
IntVec channels_last_strides(IntSpan sizes);
// Strides of a dense tensor that keeps the order of dimensions of `like` (PyTorch's preserve_format).
IntVec preserved_strides(const Tensor& like);
IntVec strides_for(const Tensor& like, MemoryFormat format);

Tensor empty(IntSpan sizes, DType dtype, Device device = {});
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = {});
Tensor empty_like(const Tensor& like);
Tensor make_tensor(const TensorSpec& spec);
Tensor scalar_tensor(double value, DType dtype);
// Another geometry over the same storage. Bounds are the caller's business.
Tensor alias(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor alias(const Tensor& t);

// ---- geometry ----
bool is_contiguous_as(const Tensor& t, MemoryFormat format);
// Dense in some order of dimensions: every element once, no holes.
bool is_dense(const Tensor& t);
// Two indices may reach the same element (expanded, or overlapping as_strided).
bool has_self_overlap(const Tensor& t);
enum class Overlap { None, Full, Partial };
// Whether writing `a` may disturb reading `b`. Full: same first element, sizes and strides.
Overlap memory_overlap(const Tensor& a, const Tensor& b);

// Wraps a dimension to [0, ndim); raises IndexError naming the legal range. A 0-d tensor counts as 1-d.
int64_t wrap_dim(std::string_view op, int64_t dim, int64_t ndim);
// Raises when the shapes do not broadcast.
IntVec broadcast_shapes(std::string_view op, IntSpan a, IntSpan b);
// Stride-0 view of shape `sizes`; t's shape must broadcast to it.
Tensor expand_to(const Tensor& t, IntSpan sizes);
// Strides that make t's elements appear with shape `sizes` without a copy; false if impossible.
bool view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes, IntVec& strides);

// "(2, 3) float32", for messages.
struct TensorText {
    const Tensor& t;
};
std::ostream& operator<<(std::ostream& out, TensorText t);
inline TensorText text(const Tensor& t) { return {t}; }

}  // namespace mashal
