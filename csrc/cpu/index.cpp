// Indexing along one dimension with an index for every element: gather, the scatters, and their 1-d index cousins
// index_add, index_copy and index_fill (a scatter whose index is the same in every column).
#include <limits>

#include "core/blocking.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

void check_index_shape(std::string_view op, const Tensor& input, int64_t dim, const Tensor& index, bool all_but_dim,
                       const Tensor& src) {
    MASHAL_CHECK(index.dtype() == DType::I64 || index.dtype() == DType::I32, op,
                 "Expected dtype int32/int64 for index, got index ", text(index));
    if (index.numel() == 0) return;
    const Tensor in = at_least_1d(input), idx = at_least_1d(index);
    MASHAL_CHECK(in.dim() == idx.dim(), op,
                 "Index tensor must have the same number of dimensions as input tensor, got index ", text(index),
                 " and input ", text(input));
    for (int64_t d = 0; d < in.dim(); d++)
        MASHAL_CHECK((all_but_dim && d == dim) || idx.size(d) <= in.size(d), op, "Size does not match at dimension ", d,
                     " expected index ", shape_text(idx.sizes()), " to be smaller than self ", shape_text(in.sizes()),
                     " apart from dimension ", dim);
    if (!src) return;
    const Tensor s = at_least_1d(src);
    MASHAL_CHECK(s.dim() == idx.dim(), op,
                 "Index tensor must have the same number of dimensions as src tensor, got index ", text(index),
                 " and src ", text(src));
    for (int64_t d = 0; d < s.dim(); d++)
        MASHAL_CHECK(idx.size(d) <= s.size(d), op, "Expected index ", shape_text(idx.sizes()),
                     " to be no larger than src ", shape_text(s.sizes()), " in any dimension");
}

// ---- gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False) ----
void gather_shape(Call& c) {
    const Tensor input = c.tensor(0), index = c.tensor(2);
    check_index_shape("gather", input, wrap_dim("gather", c.i64(1), input.dim()), index, true, {});
    c.result(index.sizes(), input.dtype(), input.device());
}

void gather_kernel(Call& c) {
    const Tensor input = at_least_1d(c.tensor(0)), index = at_least_1d(index_tensor("gather", c.tensor(2)));
    const Tensor out = at_least_1d(c.out[0]);
    if (index.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("gather", c.i64(1), input.dim()));
    const int64_t limit = input.sizes()[dim], dim_step = input.strides()[dim], d = static_cast<int64_t>(dim);
    // Dimensions of one index each are dropped from the walk; the place along `dim` comes from the index alone.
    IntVec sizes, so, sx, base;
    for (size_t i = 0; i < index.sizes().size(); i++) {
        if (index.sizes()[i] == 1 && (!sizes.empty() || i + 1 < index.sizes().size())) continue;
        sizes.push_back(index.sizes()[i]);
        so.push_back(out.strides()[i]);
        sx.push_back(index.strides()[i]);
        base.push_back(i == dim ? 0 : input.strides()[i]);
    }
    const int64_t lo = so.back(), lx = sx.back(), lb = base.back();
    visit_size(input.dtype(), [&](auto tag) {
        using T = decltype(tag);
        T* o0 = out.data<T>();
        const int64_t* x0 = index.data<int64_t>();
        const T* s0 = input.data<T>();
        AllowThreads threads(index.numel() > kGrain);
        parallel_rows<3>(sizes, {so, sx, base}, 1, [&](const auto& at, int64_t n) {
            T* o = o0 + at[0];
            const int64_t* x = x0 + at[1];
            const T* s = s0 + at[2];
            auto run = [&](int64_t lo, int64_t lx, int64_t lb, int64_t step) {
                for (int64_t j = 0; j < n; j++) {
                    const int64_t k = x[j * lx];
                    if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(limit)) [[unlikely]]
                        raise_index("gather", k, d, limit);
                    o[j * lo] = s[j * lb + k * step];
                }
            };
            if (lo == 1 && lx == 1 && lb == 0 && dim_step == 1)
                run(1, 1, 0, 1);
            else
                run(lo, lx, lb, dim_step);
        });
    });
}

// ---- the scatter loop ----
// For every index position: f(element of out, element of src), in order along `dim`. Columns (all dimensions but `dim`)
// never meet in an output element, so they run in parallel.
template <class T, class F>
void scatter_loop(std::string_view op, const Tensor& out, size_t dim, const Tensor& index, const T* src,
                  IntSpan src_strides, F f) {
    const int64_t m = index.sizes()[dim], limit = out.sizes()[dim], d = static_cast<int64_t>(dim);
    IntVec rest = without(index.sizes(), dim), so = without(out.strides(), dim), sx = without(index.strides(), dim),
           ss = without(src_strides, dim);
    if (rest.empty()) {
        rest.push_back(1);
        for (IntVec* v : {&so, &sx, &ss}) v->push_back(0);
    }
    const int64_t mo = out.strides()[dim], mx = index.strides()[dim], ms = src_strides[dim];
    const int64_t lo = so.back(), lx = sx.back(), ls = ss.back();
    T* o0 = out.data<T>();
    const int64_t* x0 = index.data<int64_t>();
    auto checked = [&](int64_t k) {
        if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(limit)) [[unlikely]]
            raise_index(op, k, d, limit);
        return k;
    };
    AllowThreads threads(index.numel() > kGrain);
    parallel_rows<3>(rest, {so, sx, ss}, m, [&](const auto& at, int64_t n) {
        T* o = o0 + at[0];
        const int64_t* x = x0 + at[1];
        const T* s = src + at[2];
        if (lx == 0 && n > 1) {  // one index for the whole row
            for (int64_t i = 0; i < m; i++) {
                T* row = o + checked(x[i * mx]) * mo;
                const T* from = s + i * ms;
                if (lo == 1 && ls == 1)
                    for (int64_t j = 0; j < n; j++) f(row[j], from[j]);
                else
                    for (int64_t j = 0; j < n; j++) f(row[j * lo], from[j * ls]);
            }
        } else if (mx == 1 && mo == 1 && ms == 1) {
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < m; i++) f(o[j * lo + checked(x[j * lx + i])], s[j * ls + i]);
        } else if (mx <= lx || n == 1) {
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < m; i++) f(o[j * lo + checked(x[j * lx + i * mx]) * mo], s[j * ls + i * ms]);
        } else {
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) f(o[j * lo + checked(x[j * lx + i * mx]) * mo], s[j * ls + i * ms]);
        }
    });
}

// Starts out[0] as a copy of the input, unless it is the input.
Tensor prepared_output(Call& c) {
    if (!c.out[0].is_same(c.tensor(0))) copy_into(c.out[0], c.tensor(0));
    return at_least_1d(c.out[0]);
}

template <class T>
T number_as(const Scalar& s) {
    T v;
    store_scalar(&v, dtype_of<T>::value, s);
    return v;
}

// A scatter that only moves elements.
void scatter_elements(std::string_view op, const Tensor& out, size_t dim, const Tensor& index, const Tensor& src) {
    visit_size(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        scatter_loop<T>(op, out, dim, index, src.data<T>(), src.strides(), [](T& d, T s) { d = s; });
    });
}

// A scatter that computes; the half types accumulate in float.
template <class Make>
void scatter_compute(const Tensor& out, const Tensor& src, Make&& run) {
    if (is_half(out.dtype())) {
        const Tensor wide = to_dtype(out, DType::F32);
        run(wide, to_dtype(src, DType::F32), float{});
        return copy_into(out, wide);
    }
    visit_all(out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (!std::is_same_v<T, f16> && !std::is_same_v<T, bf16>) run(out, src, tag);
    });
}

struct Add {
    template <class T>
    void operator()(T& d, T s) const {
        if constexpr (std::is_same_v<T, bool>)
            d = d | s;
        else
            d = static_cast<T>(d + s);
    }
};

// ---- _scatter(Tensor input, int dim, Tensor index, Tensor src), _scatter_value(..., Number value), scatter_add ----
void scatter_shape(Call& c) {
    const Tensor input = c.tensor(0), index = c.tensor(2);
    const std::string_view op = c.name() == "scatter_add"      ? "scatter_add"
                                : c.name() == "scatter_reduce" ? "scatter_reduce"
                                                               : "scatter";
    Tensor src;
    if (c.args[3].is_tensor()) {
        src = c.tensor(3);
        MASHAL_CHECK(src.dtype() == input.dtype(), op, "Expected self.dtype to be equal to src.dtype, got input ",
                     text(input), " and src ", text(src), ". Cast one with .to()");
    }
    check_index_shape(op, input, wrap_dim(op, c.i64(1), input.dim()), index, true, src);
    c.result(input.sizes(), input.dtype(), input.device());
}

void scatter_kernel(Call& c) {
    const Tensor out = prepared_output(c), index = at_least_1d(index_tensor("scatter", c.tensor(2)));
    if (index.numel() == 0) return;
    scatter_elements("scatter", out, static_cast<size_t>(wrap_dim("scatter", c.i64(1), out.dim())), index,
                     at_least_1d(c.tensor(3)));
}

void scatter_value_kernel(Call& c) {
    const Tensor out = prepared_output(c), index = at_least_1d(index_tensor("scatter", c.tensor(2)));
    if (index.numel() == 0) return;
    const Tensor value = empty(IntVec{1}, out.dtype());
    fill(value, c.args[3].scalar());
    scatter_elements("scatter", out, static_cast<size_t>(wrap_dim("scatter", c.i64(1), out.dim())), index,
                     alias(value, index.sizes(), IntVec(index.sizes().size()), 0));
}

void scatter_add_kernel(Call& c) {
    const Tensor out = prepared_output(c), index = at_least_1d(index_tensor("scatter_add", c.tensor(2)));
    if (index.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("scatter_add", c.i64(1), out.dim()));
    scatter_compute(out, at_least_1d(c.tensor(3)), [&](const Tensor& o, const Tensor& s, auto tag) {
        using T = decltype(tag);
        scatter_loop<T>("scatter_add", o, dim, index, s.template data<T>(), s.strides(), Add());
    });
}

// ---- scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) ----
enum class Reduce { Sum, Prod, Mean, Amax, Amin };

Reduce parse_reduce(std::string_view op, const std::string& name) {
    static constexpr std::string_view names[] = {"sum", "prod", "mean", "amax", "amin"};
    for (int i = 0; i < 5; i++)
        if (name == names[i]) return static_cast<Reduce>(i);
    raise_error(ErrorKind::Runtime, op, "reduce argument must be either sum, prod, mean, amax or amin, got ", name);
}

template <class T>
constexpr bool is_cplx = std::is_same_v<T, c64> || std::is_same_v<T, c128>;

template <class T>
bool is_nan(T v) {
    if constexpr (std::is_floating_point_v<T>)
        return v != v;
    else
        return false;
}

template <class T>
T reduce_identity(Reduce r) {
    if constexpr (is_cplx<T>) {
        return T(r == Reduce::Prod ? 1 : 0);
    } else {
        using L = std::numeric_limits<T>;
        switch (r) {
            case Reduce::Prod: return T(1);
            case Reduce::Amax: return L::has_infinity ? -L::infinity() : L::lowest();
            case Reduce::Amin: return L::has_infinity ? L::infinity() : L::max();
            default: return T(0);
        }
    }
}

template <class T>
void scatter_reduce_typed(std::string_view op, const Tensor& out, size_t dim, const Tensor& index, const Tensor& src,
                          Reduce reduce, bool include_self) {
    const T* s = src.data<T>();
    const IntSpan strides = src->strides;
    if (!include_self)
        scatter_loop<T>(op, out, dim, index, s, strides, [v = reduce_identity<T>(reduce)](T& d, T) { d = v; });
    switch (reduce) {
        case Reduce::Sum:
        case Reduce::Mean: scatter_loop<T>(op, out, dim, index, s, strides, Add()); break;
        case Reduce::Prod:
            scatter_loop<T>(op, out, dim, index, s, strides, [](T& d, T v) { d = static_cast<T>(d * v); });
            break;
        case Reduce::Amax:
        case Reduce::Amin:
            if constexpr (is_cplx<T>) {
                raise_error(ErrorKind::Runtime, op, "amax and amin are not defined for complex tensors");
            } else if (reduce == Reduce::Amax) {
                scatter_loop<T>(op, out, dim, index, s, strides, [](T& d, T v) {
                    if (v > d || is_nan(v)) d = v;
                });
            } else {
                scatter_loop<T>(op, out, dim, index, s, strides, [](T& d, T v) {
                    if (v < d || is_nan(v)) d = v;
                });
            }
    }
    if (reduce != Reduce::Mean) return;
    const Tensor counts = empty(out.sizes(), DType::I64);
    fill(counts, Scalar::of(int64_t{include_self ? 1 : 0}));
    const int64_t one = 1;
    const IntVec zeros(index.sizes().size());
    scatter_loop<int64_t>(op, counts, dim, index, &one, zeros, [](int64_t& d, int64_t v) { d += v; });
    const int64_t* count = counts.data<int64_t>();
    T* data = out.data<T>();
    if constexpr (!std::is_same_v<T, bool>) {
        const IntVec rows = contiguous_strides(out.sizes());
        for_row_pieces<2>(out->sizes, {out->strides, rows}, 0, out.numel(), [&](const auto& at, int64_t n) {
            const int64_t step = out.strides().back();
            for (int64_t i = 0; i < n; i++) {
                const int64_t k = std::max<int64_t>(count[at[1] + i], 1);
                T& v = data[at[0] + i * step];
                if constexpr (std::is_integral_v<T>) {  // floor, as PyTorch divides here
                    const int64_t q = static_cast<int64_t>(v) / k, r = static_cast<int64_t>(v) % k;
                    v = static_cast<T>(r < 0 ? q - 1 : q);
                } else {
                    v = static_cast<T>(v / static_cast<T>(k));
                }
            }
        });
    }
}

void scatter_reduce_shape(Call& c) {
    parse_reduce("scatter_reduce", c.args[4].text());
    scatter_shape(c);
}

void scatter_reduce_kernel(Call& c) {
    const Tensor out = prepared_output(c), index = at_least_1d(index_tensor("scatter_reduce", c.tensor(2)));
    if (index.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("scatter_reduce", c.i64(1), out.dim()));
    const Reduce reduce = parse_reduce("scatter_reduce", c.args[4].text());
    const bool include_self = c.flag(5);
    scatter_compute(out, at_least_1d(c.tensor(3)), [&](const Tensor& o, const Tensor& s, auto tag) {
        scatter_reduce_typed<decltype(tag)>("scatter_reduce", o, dim, index, s, reduce, include_self);
    });
}

// ---- index_add, index_copy, index_reduce(Tensor input, int dim, Tensor index, Tensor source, ...), index_fill ----
void index_source_shape(Call& c) {
    const Tensor input = c.tensor(0), index = c.tensor(2), source = c.tensor(3);
    const std::string& op = c.name();
    const size_t dim = static_cast<size_t>(wrap_dim(op, c.i64(1), input.dim()));
    MASHAL_CHECK_AS(Index, index.dim() <= 1, op, "Index is supposed to be a vector, got index ", text(index));
    MASHAL_CHECK(index.dtype() == DType::I64 || index.dtype() == DType::I32, op,
                 "Expected dtype int32/int64 for index, got index ", text(index));
    MASHAL_CHECK(input.dtype() == source.dtype(), op, "input and source must have the same dtype, got input ",
                 text(input), " and source ", text(source));
    const Tensor in = at_least_1d(input), src = at_least_1d(source);
    if (in.dim() != src.dim() || src.size(static_cast<int64_t>(dim)) != index.numel())
        raise_error(op == "index_copy" ? ErrorKind::Index : ErrorKind::Runtime, op, "Number of indices (",
                    index.numel(), ") should be equal to the size of source in dimension ", dim, ", got source ",
                    text(source), " and input ", text(input));
    for (size_t d = 0; d < in.sizes().size(); d++)
        MASHAL_CHECK(d == dim || in.sizes()[d] == src.sizes()[d], op,
                     "source must have the shape of input except in dimension ", dim, ", got source ", text(source),
                     " and input ", text(input));
    c.result(input.sizes(), input.dtype(), input.device());
}

// The 1-d index as it applies to a source of shape `sizes`.
Tensor spread_index(std::string_view op, const Tensor& index, size_t dim, IntSpan sizes) {
    const Tensor x = at_least_1d(index_tensor(op, index));
    const int64_t limit = x.numel();
    IntVec strides(sizes.size());
    strides[dim] = limit > 0 ? x.strides()[0] : 0;
    return alias(x, sizes, strides, x->offset);
}

void index_add_kernel(Call& c) {
    const Tensor out = prepared_output(c), source = at_least_1d(c.tensor(3));
    if (source.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("index_add", c.i64(1), out.dim()));
    const Tensor index = spread_index("index_add", c.tensor(2), dim, source.sizes());
    const Scalar alpha = c.args[4].scalar();
    scatter_compute(out, source, [&](const Tensor& o, const Tensor& s, auto tag) {
        using T = decltype(tag);
        const T* data = s.template data<T>();
        const T a = number_as<T>(alpha);
        if (a == T(1))
            scatter_loop<T>("index_add", o, dim, index, data, s.strides(), Add());
        else
            scatter_loop<T>("index_add", o, dim, index, data, s.strides(),
                            [a](T& d, T v) { Add()(d, static_cast<T>(a * v)); });
    });
}

void index_copy_kernel(Call& c) {
    const Tensor out = prepared_output(c), source = at_least_1d(c.tensor(3));
    if (source.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("index_copy", c.i64(1), out.dim()));
    scatter_elements("index_copy", out, dim, spread_index("index_copy", c.tensor(2), dim, source.sizes()), source);
}

// index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)
void index_reduce_kernel(Call& c) {
    const Tensor out = prepared_output(c), source = at_least_1d(c.tensor(3));
    if (source.numel() == 0) return;
    const size_t dim = static_cast<size_t>(wrap_dim("index_reduce", c.i64(1), out.dim()));
    const Reduce reduce = parse_reduce("index_reduce", c.args[4].text());
    const Tensor index = spread_index("index_reduce", c.tensor(2), dim, source.sizes());
    scatter_compute(out, source, [&](const Tensor& o, const Tensor& s, auto tag) {
        scatter_reduce_typed<decltype(tag)>("index_reduce", o, dim, index, s, reduce, c.flag(5));
    });
}

// index_fill(Tensor input, int dim, Tensor index, Number value)
void index_fill_shape(Call& c) {
    const Tensor input = c.tensor(0), index = c.tensor(2);
    wrap_dim("index_fill", c.i64(1), input.dim());
    MASHAL_CHECK_AS(Index, index.dtype() == DType::I64, "index_fill", "Expected dtype int64 for index, got index ",
                    text(index));
    MASHAL_CHECK(index.dim() <= 1, "index_fill", "Index has to be a vector/scalar, got index ", text(index));
    c.result_like(input);
}

void index_fill_kernel(Call& c) {
    const Tensor out = prepared_output(c), given = at_least_1d(c.tensor(2));
    const size_t dim = static_cast<size_t>(wrap_dim("index_fill", c.i64(1), out.dim()));
    IntVec sizes = out.sizes();
    sizes[dim] = given.numel();
    if (product(sizes) == 0) return;
    // Negative indices count from the end here.
    const Tensor wrapped = empty(given.sizes(), DType::I64);
    for (int64_t i = 0; i < given.numel(); i++)
        wrapped.data<int64_t>()[i] = wrapped_index("index_fill", given.data<int64_t>()[i * given.strides()[0]],
                                                   static_cast<int64_t>(dim), out.sizes()[dim]);
    const Tensor value = empty(IntVec{1}, out.dtype());
    fill(value, c.args[3].scalar());
    scatter_elements("index_fill", out, dim, spread_index("index_fill", wrapped, dim, sizes),
                     alias(value, sizes, IntVec(sizes.size()), 0));
}

const OpRegistration r_gather{"gather", {.shape = gather_shape, .kernel = gather_kernel}};
const OpRegistration r_scatter_{"_scatter_", {scatter_shape, scatter_kernel, true}};
const OpRegistration r_scatter{"_scatter", {scatter_shape, scatter_kernel, true}};
const OpRegistration r_scatter_value_{"_scatter_value_", {scatter_shape, scatter_value_kernel, true}};
const OpRegistration r_scatter_value{"_scatter_value", {scatter_shape, scatter_value_kernel, true}};
const OpRegistration r_scatter_add{"scatter_add", {scatter_shape, scatter_add_kernel, true}};
const OpRegistration r_scatter_reduce{"scatter_reduce", {scatter_reduce_shape, scatter_reduce_kernel, true}};
const OpRegistration r_index_add{"index_add", {index_source_shape, index_add_kernel, true}};
const OpRegistration r_index_copy{"index_copy", {index_source_shape, index_copy_kernel, true}};
const OpRegistration r_index_reduce{"index_reduce", {index_source_shape, index_reduce_kernel, true}};
const OpRegistration r_index_fill_{"_index_fill_", {index_fill_shape, index_fill_kernel, true}};
const OpRegistration r_index_fill{"_index_fill", {index_fill_shape, index_fill_kernel, true}};

}  // namespace

}  // namespace mashal
