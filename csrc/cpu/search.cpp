// Finding where values belong: searchsorted, bincount, histc, and counting repeats.
#include <cmath>
#include <limits>

#include "core/blocking.h"
#include "cpu/checks.h"
#include "cpu/index_common.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

// ---- _searchsorted(Tensor sorted_sequence, Tensor input, bool out_int32, bool right, Tensor? sorter) ----
void searchsorted_shape(Call& c) {
    const Tensor sequence = c.tensor(0), input = c.tensor(1), sorter = c.tensor(4);
    MASHAL_CHECK(sequence.dim() > 0, "searchsorted",
                 "sorted_sequence must have at least one dimension, got sorted_sequence ", text(sequence));
    if (sequence.dim() > 1) {
        bool fits = sequence.dim() == input.dim();
        for (int64_t d = 0; fits && d + 1 < sequence.dim(); d++) fits = sequence.size(d) == input.size(d);
        MASHAL_CHECK(
            fits, "searchsorted",
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            "value tensor must match, got sorted_sequence ",
            text(sequence), " and input ", text(input));
    }
    MASHAL_CHECK(!is_complex(input.dtype()), "searchsorted", "is not implemented for complex tensors");
    if (sorter) {
        MASHAL_CHECK(sorter.sizes() == sequence.sizes(), "searchsorted",
                     "boundary and sorter must have the same size, got sorted_sequence ", text(sequence),
                     " and sorter ", text(sorter));
        MASHAL_CHECK(sorter.dtype() == DType::I64, "searchsorted", "sorter must be a tensor of long dtype, got sorter ",
                     text(sorter));
    }
    c.result(input.sizes(), c.flag(2) ? DType::I32 : DType::I64, input.device());
}

template <class T, class Index>
void search_rows(const T* sequence, int64_t n, bool shared, const int64_t* sorter, const T* values, int64_t per_row,
                 int64_t total, bool right, Index* out) {
    parallel_for(0, total, kGrain / 32, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            const int64_t row = shared ? 0 : i / per_row * n;
            const T v = values[i];
            auto item = [&](int64_t k) { return sequence[row + (sorter ? sorter[row + k] : k)]; };
            // Comparisons are written so that NaN goes to the end; the step is chosen without a branch.
            int64_t low = 0;
            for (int64_t count = n; count > 0;) {
                const int64_t half = (count + 1) / 2;
                const T x = item(low + half - 1);
                const bool further = right ? !(x > v) : !(x >= v);
                low += further ? half : 0;
                count = further ? count - half : half - 1;
            }
            out[i] = static_cast<Index>(low);
        }
    });
}

void searchsorted_kernel(Call& c) {
    Tensor sequence = contiguous(c.tensor(0)), input = contiguous(c.tensor(1));
    const Tensor out = c.out[0], sorter = c.has(4) ? contiguous(c.tensor(4)) : Tensor();
    const bool right = c.flag(3), shared = sequence.dim() == 1;
    const int64_t n = sequence.sizes().back();
    if (input.numel() == 0) return;
    if (sorter)
        for (int64_t i = 0; i < sorter.numel(); i++) {
            const int64_t k = sorter.data<int64_t>()[i];
            MASHAL_CHECK(k >= 0 && k < n, "searchsorted", "sorter index out of range: ", k, " for size ", n);
        }
    const DType dtype = compute_dtype(promote_dtypes(sequence.dtype(), input.dtype()));
    sequence = to_dtype(sequence, dtype);
    input = to_dtype(input, dtype);
    const int64_t per_row = input.dim() > 0 ? input.sizes().back() : 1, total = input.numel();
    visit_all(sequence.dtype(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_arithmetic_v<T>) {
            const T* s = sequence.data<T>();
            const T* v = input.data<T>();
            const int64_t* order = sorter ? sorter.data<int64_t>() : nullptr;
            void* o = out.data();
            const bool narrow = out.dtype() == DType::I32;
            AllowThreads threads(total > kGrain / 8);
            if (narrow)
                search_rows(s, n, shared, order, v, per_row, total, right, static_cast<int32_t*>(o));
            else
                search_rows(s, n, shared, order, v, per_row, total, right, static_cast<int64_t*>(o));
        }
    });
}

// ---- bincount(Tensor input, Tensor? weights=None, int minlength=0) ----
void bincount_kernel(Call& c) {
    const Tensor given = c.tensor(0);
    const int64_t minlength = c.i64(2);
    MASHAL_CHECK_AS(NotImplemented, is_integral(given.dtype(), false), "bincount", "not implemented for '",
                    dtype_legacy_name(given.dtype()), "': input must hold ints");
    MASHAL_CHECK(given.dim() == 1, "bincount", "only supports 1-d non-negative integral inputs, got input ",
                 text(given));
    MASHAL_CHECK(minlength >= 0, "bincount", "minlength should be >= 0, got minlength ", minlength);
    const Tensor input = contiguous(to_dtype(given, DType::I64));
    Tensor weights;
    if (c.has(1)) {
        weights = c.tensor(1);
        MASHAL_CHECK(weights.dim() == 1 && weights.numel() == input.numel(), "bincount",
                     "weights should be 1-d and have the same length as input, got input ", text(given),
                     " and weights ", text(weights));
        weights = contiguous(to_dtype(weights, weights.dtype() == DType::F32 ? DType::F32 : DType::F64));
    }
    const int64_t* x = input.data<int64_t>();
    int64_t bins = minlength;
    for (int64_t i = 0; i < input.numel(); i++) {
        MASHAL_CHECK(x[i] >= 0, "bincount", "only supports 1-d non-negative integral inputs, got the value ", x[i]);
        bins = std::max(bins, checked_sum("bincount", x[i], 1));
    }
    const Tensor out = empty(IntVec{bins}, weights ? weights.dtype() : DType::I64);
    fill(out, Scalar::of(int64_t{0}));
    auto count = [&]<class T>(T* o, const T* w) {
        for (int64_t i = 0; i < input.numel(); i++) o[x[i]] += w ? w[i] : T(1);
    };
    if (!weights)
        count(out.data<int64_t>(), static_cast<const int64_t*>(nullptr));
    else if (out.dtype() == DType::F32)
        count(out.data<float>(), static_cast<const float*>(weights.data<float>()));
    else
        count(out.data<double>(), static_cast<const double*>(weights.data<double>()));
    c.out.push_back(out);
}

// ---- histc(Tensor input, int bins=100, Number min=0, Number max=0) ----
void histc_shape(Call& c) {
    const Tensor t = c.tensor(0);
    MASHAL_CHECK(c.i64(1) > 0, "histc", "bins must be > 0, got bins ", c.i64(1));
    MASHAL_CHECK_AS(NotImplemented, is_floating(t.dtype()), "histc", "not implemented for '",
                    dtype_legacy_name(t.dtype()), "'");
    c.result(IntVec{c.i64(1)}, t.dtype(), t.device());
}

void histc_kernel(Call& c) {
    const Tensor input = contiguous(to_dtype(c.tensor(0), DType::F64));
    const int64_t bins = c.i64(1), n = input.numel();
    double low = c.f64(2), high = c.f64(3);
    const double* x = input.data<double>();
    if (low == high && n > 0) {
        low = high = x[0];
        for (int64_t i = 0; i < n; i++) {
            low = std::min(low, x[i]);
            high = std::max(high, x[i]);
        }
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    MASHAL_CHECK(std::isfinite(low) && std::isfinite(high), "histc", "range of [", low, ", ", high, "] is not finite");
    MASHAL_CHECK(low < high, "histc", "max must be larger than min, got min ", low, " and max ", high);
    // Halves, where the range itself is too large for a number.
    const double part = std::isfinite(high - low) ? 1 : 0.5, width = high * part - low * part;
    const Tensor counts = empty(IntVec{bins}, DType::I64);
    fill(counts, Scalar::of(int64_t{0}));
    int64_t* k = counts.data<int64_t>();
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= low && x[i] <= high)) continue;
        const int64_t bin = static_cast<int64_t>((x[i] * part - low * part) / width * static_cast<double>(bins));
        k[std::min(bin, bins - 1)]++;
    }
    copy_into(c.out[0], counts);
}

// ---- _repeat_interleave(Tensor repeats, int? output_size=None): index i, repeats[i] times ----
void repeat_interleave_kernel(Call& c) {
    const Tensor given = c.tensor(0);
    MASHAL_CHECK(given.dim() == 1, "repeat_interleave", "only accept 1D vector as repeat, got repeats ", text(given));
    MASHAL_CHECK(given.dtype() == DType::I64 || given.dtype() == DType::I32, "repeat_interleave",
                 "repeats has to be Long or Int tensor, got repeats ", text(given));
    const Tensor repeats = contiguous(to_dtype(given, DType::I64));
    const int64_t* r = repeats.data<int64_t>();
    int64_t total = 0;
    for (int64_t i = 0; i < repeats.numel(); i++) {
        MASHAL_CHECK(r[i] >= 0, "repeat_interleave", "repeats can not be negative, got ", r[i], " at position ", i);
        total = checked_sum("repeat_interleave", total, r[i]);
    }
    MASHAL_CHECK(!c.has(1) || c.i64(1) == total, "repeat_interleave",
                 "allocated size does not match required size: got output_size ", c.has(1) ? c.i64(1) : 0,
                 ", but repeats add up to ", total);
    const Tensor out = empty(IntVec{total}, given.dtype());
    auto write = [&](auto* o) {
        using T = std::remove_pointer_t<decltype(o)>;
        for (int64_t i = 0; i < repeats.numel(); i++) o = std::fill_n(o, r[i], static_cast<T>(i));
    };
    if (given.dtype() == DType::I64)
        write(out.data<int64_t>());
    else
        write(out.data<int32_t>());
    c.out.push_back(out);
}

const OpRegistration r_searchsorted{"_searchsorted", {.shape = searchsorted_shape, .kernel = searchsorted_kernel}};
const OpRegistration r_bincount{"bincount", {.kernel = bincount_kernel}};
const OpRegistration r_histc{"histc", {.shape = histc_shape, .kernel = histc_kernel}};
const OpRegistration r_repeat{"_repeat_interleave", {.kernel = repeat_interleave_kernel}};

}  // namespace

}  // namespace mashal
