// Tensors made from numbers: full, empty, arange, linspace, logspace, eye, index triangles.
#include <cmath>

#include "core/blocking.h"
#include "core/vector_target.h"
#include "cpu/copy.h"
#include "cpu/strided.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

// The dtype argument; without it that of a given `out`, else the fallback.
DType dtype_or(const Call& c, size_t i, DType fallback) {
    if (c.has(i)) return c.args[i].dtype();
    return c.out_given ? c.out[0].dtype() : fallback;
}
Device device_or(const Call& c, size_t i, Device fallback) { return c.has(i) ? c.args[i].device() : fallback; }
Device device_or_default(const Call& c, size_t i) {
    return device_or(c, i, c.out_given ? c.out[0].device() : default_device());
}

void apply_format(Call& c, size_t i) {
    if (!c.has(i)) return;
    const MemoryFormat format = c.args[i].memory_format();
    if (format != MemoryFormat::ChannelsLast && format != MemoryFormat::ChannelsLast3d) return;
    const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
    TensorSpec& spec = c.specs[0];
    MASHAL_CHECK(spec.sizes.size() == rank, c.name(), "required rank ", rank,
                 " tensor to use this channels_last format, got size ", shape_text(spec.sizes));
    spec.strides = channels_last_strides(spec.sizes);
}

void announce(Call& c, IntSpan sizes, DType dtype, Device device) {
    checked_numel(c.name(), sizes);
    c.result(sizes, dtype, device);
}

// zeros, ones, empty(int[*] size, *, dtype? dtype=None, device? device=None[, memory_format? memory_format=None])
void sized_shape(Call& c) {
    announce(c, c.ints(0), dtype_or(c, 1, default_dtype()), device_or_default(c, 2));
    if (c.args.size() > 3) apply_format(c, 3);
}
// full(int[] size, Number fill_value, *, dtype? dtype=None, device? device=None)
void full_shape(Call& c) {
    announce(c, c.ints(0), dtype_or(c, 2, c.args[1].scalar().dtype()), device_or_default(c, 3));
}
// new_zeros, new_ones, new_empty(Tensor input, int[*] size, *, dtype?, device?)
void new_shape(Call& c) {
    const Tensor t = c.tensor(0);
    announce(c, c.ints(1), dtype_or(c, 2, t.dtype()), device_or(c, 3, t.device()));
}
// new_full(Tensor input, int[] size, Number fill_value, *, dtype?, device?)
void new_full_shape(Call& c) {
    const Tensor t = c.tensor(0);
    announce(c, c.ints(1), dtype_or(c, 3, t.dtype()), device_or(c, 4, t.device()));
}
// zeros_like, ones_like, empty_like(Tensor input, *, dtype?, device?, memory_format?); full_like has fill_value second.
template <size_t At>
void like_shape(Call& c) {
    const Tensor t = c.tensor(0);
    const MemoryFormat format = c.has(At + 2) ? c.args[At + 2].memory_format() : MemoryFormat::Preserve;
    c.specs.push_back(
        {t.sizes(), dtype_or(c, At, t.dtype()), device_or(c, At + 1, t.device()), strides_for(t, format)});
}
// empty_strided(int[] size, int[] stride, *, dtype?, device?), new_empty_strided(Tensor input, int[] size, int[]
// stride, ...)
template <size_t At>
void strided_shape(Call& c) {
    const IntSpan sizes = c.ints(At), strides = c.ints(At + 1);
    MASHAL_CHECK(sizes.size() == strides.size(), c.name(), "dimensionality of size ", shape_text(sizes),
                 " must match dimensionality of stride ", shape_text(strides));
    for (int64_t s : strides) MASHAL_CHECK(s >= 0, c.name(), "strides must not be negative, got ", shape_text(strides));
    checked_numel(c.name(), sizes);
    const DType dtype = At > 0 ? c.tensor(0).dtype() : default_dtype();
    const Device device = At > 0 ? c.tensor(0).device() : default_device();
    c.specs.push_back({IntVec(sizes), dtype_or(c, At + 2, dtype), device_or(c, At + 3, device), IntVec(strides)});
}

template <size_t At>
void fill_kernel(Call& c) {
    fill(c.out[0], c.args[At].scalar());
}
template <int64_t Number>
void constant_kernel(Call& c) {
    fill(c.out[0], Scalar::of(Number));
}
void leave_uninitialised(Call&) {}

// ---- _arange(Number start, Number end, Number step, *, dtype? dtype=None, device? device=None) ----
DType arange_dtype(const Call& c) {
    for (size_t i = 0; i < 3; i++)
        if (!c.args[i].scalar().is_integral()) return dtype_or(c, 3, default_dtype());
    return dtype_or(c, 3, DType::I64);
}

void arange_shape(Call& c) {
    const Scalar start = c.args[0].scalar(), end = c.args[1].scalar(), step = c.args[2].scalar();
    const DType dtype = arange_dtype(c);
    MASHAL_CHECK(step.to_double() != 0, "arange", "step must be nonzero");
    MASHAL_CHECK(std::isfinite(start.to_double()) && std::isfinite(end.to_double()), "arange",
                 "unsupported range: ", start.to_double(), " -> ", end.to_double());
    const double first = start.to_double(), last = end.to_double(), by = step.to_double();
    MASHAL_CHECK((by > 0 && last >= first) || (by < 0 && last <= first), "arange",
                 "upper bound and lower bound inconsistent with step sign: start ", first, ", end ", last, ", step ",
                 by);
    double n;
    if (dtype == DType::I64) {
        const __int128 k = step.to_int(), sign = (k > 0) - (k < 0);
        MASHAL_CHECK(k != 0, "arange", "step must be nonzero");
        // Whole numbers stay whole: large ranges do not fit a double.
        n = static_cast<double>((static_cast<__int128>(end.to_int()) - start.to_int() + k - sign) / k);
    } else {
        n = std::ceil((last - first) / by);
    }
    MASHAL_CHECK(n >= 0 && n <= static_cast<double>(int64_t{1} << 58), "arange", "invalid size, possible overflow?");
    c.result(IntVec{static_cast<int64_t>(n)}, dtype, device_or_default(c, 4));
}

// PyTorch's values to the last bit where its vector width allows it: it rounds the start of every group of lanes to T,
// and multiplies and adds at once.
template <class T>
struct ArangeLoop {
    T* out;
    int64_t n;
    double start, step;

    MASHAL_INLINE_LOOP void operator()(int64_t begin, int64_t end) const {
        constexpr int64_t lanes = 32 / static_cast<int64_t>(sizeof(T));
        const int64_t grouped = n / lanes * lanes;
        for (int64_t i = begin; i < end; i += lanes) {
            if (i >= grouped) {
                for (; i < end; i++) out[i] = static_cast<T>(__builtin_fma(step, static_cast<double>(i), start));
                return;
            }
            const double base = static_cast<T>(__builtin_fma(step, static_cast<double>(i), start));
            for (int64_t k = 0; k < lanes; k++)
                out[i + k] = static_cast<T>(__builtin_fma(step, static_cast<double>(k), base));
        }
    }
};

void arange_kernel(Call& c) {
    const Tensor out = c.out[0];
    const Scalar start = c.args[0].scalar(), step = c.args[2].scalar();
    const int64_t n = out.numel();
    visit_all(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o = out.data<T>();
        AllowThreads threads(n > kGrain);
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
            const ArangeLoop<T> loop{o, n, start.to_double(), step.to_double()};
            constexpr int64_t lanes = 8;  // parts start at whole groups
            parallel_for(0, (n + lanes - 1) / lanes, kGrain / lanes,
                         [&](int64_t b, int64_t e) { run_vectorised(loop, b * lanes, std::min(n, e * lanes)); });
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            // Bounds are cut to whole numbers first, as PyTorch does for an integer dtype.
            const int64_t from = start.to_int(), by = step.to_int();
            for (int64_t i = 0; i < n; i++) o[i] = static_cast<T>(from + i * by);
        } else {
            for (int64_t i = 0; i < n; i++)
                store_scalar(o + i, dtype_of<T>::value,
                             Scalar::of(start.to_double() + static_cast<double>(i) * step.to_double()));
        }
    });
}

// ---- linspace(Number start, Number end, int steps, *, dtype?, device?), logspace(..., float base=10.0, *, ...) ----
DType space_dtype(const Call& c, size_t at) {
    bool complex = false;
    for (size_t i = 0; i < 2; i++) complex |= c.args[i].scalar().tag == Scalar::Tag::Complex;
    return dtype_or(c, at, complex ? complex_dtype(default_dtype()) : default_dtype());
}

template <bool Log>
void space_shape(Call& c) {
    const char* name = Log ? "logspace" : "linspace";
    MASHAL_CHECK(c.i64(2) >= 0, name, "number of steps must be non-negative, got steps ", c.i64(2));
    const size_t at = Log ? 4 : 3;
    c.result(IntVec{c.i64(2)}, space_dtype(c, at), device_or_default(c, at + 1));
}

// Counts from the nearer end, so that both ends are exact.
template <class T>
struct LinspaceLoop {
    T* out;
    int64_t n;
    T start, end, step;

    MASHAL_INLINE_LOOP void operator()(int64_t b, int64_t e) const {
        const int64_t half = n / 2;
        for (int64_t i = b; i < std::min(e, half); i++) out[i] = fma_of(step, static_cast<T>(i), start);
        for (int64_t i = std::max(b, half); i < e; i++) out[i] = fma_of(-step, static_cast<T>(n - i - 1), end);
    }
    MASHAL_INLINE_LOOP float fma_of(float a, float x, float y) const { return __builtin_fmaf(a, x, y); }
    MASHAL_INLINE_LOOP double fma_of(double a, double x, double y) const { return __builtin_fma(a, x, y); }
};

void linspace_kernel(Call& c) {
    const Tensor out = c.out[0];
    const Scalar first = c.args[0].scalar(), last = c.args[1].scalar();
    const int64_t n = out.numel();
    if (n == 0) return;
    if (n == 1) return fill(out, first);
    visit_all(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o = out.data<T>();
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
            const T a = static_cast<T>(first.to_double()), b = static_cast<T>(last.to_double());
            const LinspaceLoop<T> loop{o, n, a, b, (b - a) / static_cast<T>(n - 1)};
            AllowThreads threads(n > kGrain);
            parallel_for(0, n, kGrain, [&](int64_t from, int64_t to) { run_vectorised(loop, from, to); });
        } else {
            const c128 a = first.to_complex(), b = last.to_complex(), step = (b - a) / c128(static_cast<double>(n - 1));
            for (int64_t i = 0; i < n; i++) {
                const c128 v = i < n / 2 ? a + step * c128(static_cast<double>(i))
                                         : b - step * c128(static_cast<double>(n - i - 1));
                store_scalar(o + i, dtype_of<T>::value,
                             is_complex(dtype_of<T>::value) ? Scalar::of(v) : Scalar::of(v.re));
            }
        }
    });
}

void logspace_kernel(Call& c) {
    const Tensor out = c.out[0];
    const double base = c.f64(3), first = c.args[0].scalar().to_double(), last = c.args[1].scalar().to_double();
    const int64_t n = out.numel();
    MASHAL_CHECK(!is_complex(out.dtype()), "logspace", "is not implemented for complex dtypes, got dtype ",
                 dtype_name(out.dtype()));
    const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
    char* o = out.data<char>();
    for (int64_t i = 0; i < n; i++) {
        const bool lower = i < n / 2 || n == 1;
        const double exponent =
            lower ? first + step * static_cast<double>(i) : last - step * static_cast<double>(n - i - 1);
        store_scalar(o + i * item_size(out.dtype()), out.dtype(), Scalar::of(std::pow(base, exponent)));
    }
}

// ---- _eye(int n, int m, *, dtype?, device?) ----
void eye_shape(Call& c) {
    MASHAL_CHECK(c.i64(0) >= 0, "eye", "n must be greater or equal to 0, got n ", c.i64(0));
    MASHAL_CHECK(c.i64(1) >= 0, "eye", "m must be greater or equal to 0, got m ", c.i64(1));
    c.result(IntVec{c.i64(0), c.i64(1)}, dtype_or(c, 2, default_dtype()), device_or_default(c, 3));
}
void eye_kernel(Call& c) {
    const Tensor out = c.out[0];
    fill(out, Scalar::of(int64_t{0}));
    const int64_t n = std::min(out.size(0), out.size(1));
    fill(alias(out, IntVec{n}, IntVec{out.stride(0) + out.stride(1)}, out->offset), Scalar::of(int64_t{1}));
}

// ---- _triangle_indices(int row, int col, int offset, bool upper, *, dtype?, device?) ----
// Columns [from, to) of a row that belong to the triangle.
struct RowRange {
    int64_t from, to;
};
RowRange triangle_row(const Call& c, int64_t row) {
    const int64_t columns = c.i64(1);
    const __int128 edge = static_cast<__int128>(row) + c.i64(2);
    auto column = [&](__int128 at) { return static_cast<int64_t>(std::clamp<__int128>(at, 0, columns)); };
    if (c.flag(3)) return {column(edge), columns};
    return {0, column(edge + 1)};
}

void triangle_indices_shape(Call& c) {
    const char* name = c.flag(3) ? "triu_indices" : "tril_indices";
    MASHAL_CHECK(c.i64(0) >= 0, name, "row must be non-negative, got ", c.i64(0));
    MASHAL_CHECK(c.i64(1) >= 0, name, "col must be non-negative, got ", c.i64(1));
    const DType dtype = dtype_or(c, 4, DType::I64);
    MASHAL_CHECK(dtype == DType::I64 || dtype == DType::I32, name, "not implemented for '", dtype_legacy_name(dtype),
                 "'");
    // Going down, rows of a lower triangle hold nothing, then one cell more each, then all columns.
    const __int128 rows = c.i64(0), columns = c.i64(1);
    auto cells_below = [&](__int128 edge) -> __int128 {  // sum over rows of clamp(i + edge, 0, columns)
        const __int128 first = std::clamp<__int128>(-edge, 0, rows),
                       full = std::clamp<__int128>(columns - edge, first, rows);
        const __int128 growing = full - first;
        return growing * (2 * (first + edge) + growing - 1) / 2 + (rows - full) * columns;
    };
    const __int128 offset = c.i64(2);
    const __int128 count = c.flag(3) ? rows * columns - cells_below(offset) : cells_below(offset + 1);
    MASHAL_CHECK(count <= kMaxNumel, name, "result is too large, got row ", c.i64(0), " and col ", c.i64(1));
    const auto n = static_cast<int64_t>(count);
    c.result(IntVec{2, n}, dtype, device_or_default(c, 5));
}

void triangle_indices_kernel(Call& c) {
    const Tensor out = c.out[0];
    auto write = [&](auto tag) {
        using T = decltype(tag);
        T* rows = out.data<T>();
        T* columns = rows + out.size(1);
        const int64_t first =
            c.flag(3) ? 0 : std::max<int64_t>(0, -std::max(c.i64(2), -INT64_MAX));  // the first not empty
        for (int64_t i = first, left = out.size(1); left > 0; i++) {
            const RowRange r = triangle_row(c, i);
            left -= r.to - r.from;
            for (int64_t j = r.from; j < r.to; j++) {
                *rows++ = static_cast<T>(i);
                *columns++ = static_cast<T>(j);
            }
        }
    };
    if (out.dtype() == DType::I64)
        write(int64_t{});
    else
        write(int32_t{});
}

const OpRegistration registrations[] = {
    {"zeros", {.shape = sized_shape, .kernel = constant_kernel<0>}},
    {"ones", {.shape = sized_shape, .kernel = constant_kernel<1>}},
    {"empty", {.shape = sized_shape, .kernel = leave_uninitialised}},
    {"full", {.shape = full_shape, .kernel = fill_kernel<1>}},
    {"new_zeros", {.shape = new_shape, .kernel = constant_kernel<0>, .reads_data = false}},
    {"new_ones", {.shape = new_shape, .kernel = constant_kernel<1>, .reads_data = false}},
    {"new_empty", {.shape = new_shape, .kernel = leave_uninitialised, .reads_data = false}},
    {"new_full", {.shape = new_full_shape, .kernel = fill_kernel<2>, .reads_data = false}},
    {"zeros_like", {.shape = like_shape<1>, .kernel = constant_kernel<0>, .reads_data = false}},
    {"ones_like", {.shape = like_shape<1>, .kernel = constant_kernel<1>, .reads_data = false}},
    {"empty_like", {.shape = like_shape<1>, .kernel = leave_uninitialised, .reads_data = false}},
    {"full_like", {.shape = like_shape<2>, .kernel = fill_kernel<1>, .reads_data = false}},
    {"empty_strided", {.shape = strided_shape<0>, .kernel = leave_uninitialised}},
    {"new_empty_strided", {.shape = strided_shape<1>, .kernel = leave_uninitialised, .reads_data = false}},
    {"_arange", {.shape = arange_shape, .kernel = arange_kernel}},
    {"linspace", {.shape = space_shape<false>, .kernel = linspace_kernel}},
    {"logspace", {.shape = space_shape<true>, .kernel = logspace_kernel}},
    {"_eye", {.shape = eye_shape, .kernel = eye_kernel}},
    {"_triangle_indices", {.shape = triangle_indices_shape, .kernel = triangle_indices_kernel}},
};

}  // namespace

}  // namespace mashal
