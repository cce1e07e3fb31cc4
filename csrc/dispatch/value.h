// One argument of a primitive call.
#pragma once
#include <string>

#include "core/scalar_value.h"
#include "core/tensor.h"

namespace mashal {

struct TensorList final : RefCounted {
    SmallVec<Tensor, 4> items;  // an undefined tensor stands for None
};
struct IntList final : RefCounted {
    IntVec items;
};
struct FloatList final : RefCounted {
    SmallVec<double, 4> items;
};
struct TextBox final : RefCounted {
    std::string text;
};

class Value {
public:
    enum class Tag : uint8_t {
        None,
        Tensor,
        Tensors,
        Bool,
        Int,
        Float,
        Complex,
        Ints,
        Floats,
        Text,
        DType,
        Device,
        MemoryFormat,
        Object  // a RefCounted of another kind (Generator)
    };

    Value() = default;
    explicit Value(Tensor t) : tag_(Tag::Tensor), ref_(Ref<RefCounted>::steal(t.release())) {}
    explicit Value(bool b) : tag_(Tag::Bool), i_(b) {}
    explicit Value(int64_t i) : tag_(Tag::Int), i_(i) {}
    explicit Value(double f) : tag_(Tag::Float), f_(f) {}
    explicit Value(c128 c) : tag_(Tag::Complex), f_(c.re), im_(c.im) {}
    explicit Value(DType t) : tag_(Tag::DType), i_(static_cast<int64_t>(t)) {}
    explicit Value(Device d)
        : tag_(Tag::Device), i_(static_cast<int64_t>(d.type) << 16 | static_cast<uint16_t>(d.index)) {}
    explicit Value(MemoryFormat m) : tag_(Tag::MemoryFormat), i_(static_cast<int64_t>(m)) {}
    explicit Value(Ref<IntList> v) : tag_(Tag::Ints), ref_(std::move(v)) {}
    explicit Value(Ref<FloatList> v) : tag_(Tag::Floats), ref_(std::move(v)) {}
    explicit Value(Ref<TensorList> v) : tag_(Tag::Tensors), ref_(std::move(v)) {}
    explicit Value(Ref<TextBox> v) : tag_(Tag::Text), ref_(std::move(v)) {}
    static Value object(Ref<RefCounted> r) {
        Value v;
        v.tag_ = Tag::Object;
        v.ref_ = std::move(r);
        return v;
    }
    static Value number(const Scalar& s) {
        switch (s.tag) {
            case Scalar::Tag::Bool: return Value(s.i != 0);
            case Scalar::Tag::Int: return Value(s.i);
            case Scalar::Tag::Float: return Value(s.re);
            default: return Value(c128{s.re, s.im});
        }
    }
    static Value ints(IntSpan s) {
        auto box = make_ref<IntList>();
        box->items = IntVec(s);
        return Value(std::move(box));
    }
    static Value tensors(SmallVec<Tensor, 4> items) {
        auto box = make_ref<TensorList>();
        box->items = std::move(items);
        return Value(std::move(box));
    }

    Tag tag() const { return tag_; }
    bool is_none() const { return tag_ == Tag::None; }
    bool is_tensor() const { return tag_ == Tag::Tensor; }
    bool is_number() const { return tag_ >= Tag::Bool && tag_ <= Tag::Complex; }

    // Unchecked readers: the parser has made sure of the tag.
    TensorObj* tensor_obj() const { return static_cast<TensorObj*>(ref_.get()); }
    Tensor tensor() const { return tag_ == Tag::Tensor ? Tensor(tensor_obj()) : Tensor(); }
    const SmallVec<Tensor, 4>& tensor_list() const { return static_cast<TensorList*>(ref_.get())->items; }
    const IntVec& int_list() const { return static_cast<IntList*>(ref_.get())->items; }
    const SmallVec<double, 4>& float_list() const { return static_cast<FloatList*>(ref_.get())->items; }
    const std::string& text() const { return static_cast<TextBox*>(ref_.get())->text; }
    RefCounted* object_ptr() const { return ref_.get(); }
    bool boolean() const { return i_ != 0; }
    int64_t integer() const { return tag_ == Tag::Float ? static_cast<int64_t>(f_) : i_; }
    double real() const { return tag_ == Tag::Float || tag_ == Tag::Complex ? f_ : static_cast<double>(i_); }
    DType dtype() const { return static_cast<DType>(i_); }
    Device device() const { return {static_cast<DeviceType>(i_ >> 16), static_cast<int16_t>(i_ & 0xffff)}; }
    MemoryFormat memory_format() const { return static_cast<MemoryFormat>(i_); }
    Scalar scalar() const {
        switch (tag_) {
            case Tag::Bool: return Scalar::of(i_ != 0);
            case Tag::Int: return Scalar::of(i_);
            case Tag::Float: return Scalar::of(f_);
            default: return Scalar::of(c128{f_, im_});
        }
    }

private:
    Tag tag_ = Tag::None;
    union {
        int64_t i_ = 0;
        double f_;
    };
    double im_ = 0;
    Ref<RefCounted> ref_;
};

}  // namespace mashal
