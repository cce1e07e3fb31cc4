#include "core/scalar_value.h"

#include <limits>

namespace mashal {

namespace {
DType g_default_dtype = DType::F32;

template <class T>
T to_integer(DType t, const Scalar& s) {
    double v = s.to_double();
    // Values are checked for Python ints only; floats convert as in C.
    if (s.is_integral()) {
        if (s.i > static_cast<int64_t>(std::numeric_limits<T>::max()) ||
            (s.i < static_cast<int64_t>(std::numeric_limits<T>::min()) &&
             !(std::is_unsigned_v<T> && s.i >= -static_cast<int64_t>(std::numeric_limits<T>::max()))))
            raise_error(ErrorKind::Runtime, "", "value ", s.i, " cannot be converted to type ", dtype_name(t),
                        " without overflow");
        return static_cast<T>(s.i);
    }
    return static_cast<T>(static_cast<int64_t>(v));
}
}  // namespace

DType default_dtype() { return g_default_dtype; }
void set_default_dtype(DType t) { g_default_dtype = t; }

DType Scalar::dtype() const {
    switch (tag) {
        case Tag::Bool: return DType::Bool;
        case Tag::Int: return DType::I64;
        case Tag::Float: return default_dtype();
        default: return complex_dtype(default_dtype());
    }
}

void store_scalar(void* p, DType t, const Scalar& s) {
    if (s.tag == Scalar::Tag::Complex && !is_complex(t) && s.im != 0)
        raise_error(ErrorKind::Runtime, "", "a complex value cannot be converted to type ", dtype_name(t),
                    " without losing its imaginary part");
    switch (t) {
        case DType::Bool: *static_cast<bool*>(p) = s.is_integral() ? s.i != 0 : (s.re != 0 || s.im != 0); break;
        case DType::U8: *static_cast<uint8_t*>(p) = to_integer<uint8_t>(t, s); break;
        case DType::I8: *static_cast<int8_t*>(p) = to_integer<int8_t>(t, s); break;
        case DType::I16: *static_cast<int16_t*>(p) = to_integer<int16_t>(t, s); break;
        case DType::I32: *static_cast<int32_t*>(p) = to_integer<int32_t>(t, s); break;
        case DType::I64: *static_cast<int64_t*>(p) = s.to_int(); break;
        case DType::F16: *static_cast<f16*>(p) = to_f16(static_cast<float>(s.to_double())); break;
        case DType::BF16: *static_cast<bf16*>(p) = to_bf16(static_cast<float>(s.to_double())); break;
        case DType::F32: *static_cast<float*>(p) = static_cast<float>(s.to_double()); break;
        case DType::F64: *static_cast<double*>(p) = s.to_double(); break;
        case DType::C64: *static_cast<c64*>(p) = {static_cast<float>(s.to_double()), static_cast<float>(s.im)}; break;
        case DType::C128: *static_cast<c128*>(p) = s.to_complex(); break;
    }
}

Scalar load_scalar(const void* p, DType t) {
    switch (t) {
        case DType::Bool: return Scalar::of(*static_cast<const uint8_t*>(p) != 0);
        case DType::U8: return Scalar::of(static_cast<int64_t>(*static_cast<const uint8_t*>(p)));
        case DType::I8: return Scalar::of(static_cast<int64_t>(*static_cast<const int8_t*>(p)));
        case DType::I16: return Scalar::of(static_cast<int64_t>(*static_cast<const int16_t*>(p)));
        case DType::I32: return Scalar::of(static_cast<int64_t>(*static_cast<const int32_t*>(p)));
        case DType::I64: return Scalar::of(*static_cast<const int64_t*>(p));
        case DType::F16: return Scalar::of(static_cast<double>(to_float(*static_cast<const f16*>(p))));
        case DType::BF16: return Scalar::of(static_cast<double>(to_float(*static_cast<const bf16*>(p))));
        case DType::F32: return Scalar::of(static_cast<double>(*static_cast<const float*>(p)));
        case DType::F64: return Scalar::of(*static_cast<const double*>(p));
        case DType::C64: {
            c64 c = *static_cast<const c64*>(p);
            return Scalar::of(c128{c.re, c.im});
        }
        default: return Scalar::of(*static_cast<const c128*>(p));
    }
}

}  // namespace mashal
