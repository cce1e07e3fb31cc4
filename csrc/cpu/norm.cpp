// layer_norm, rms_norm and group_norm, forward and backward.
#include "cpu/norm_common.h"

#include <algorithm>
#include <memory>

#include "cpu/checks.h"

namespace mashal {

template <>
const NormLoops<float>& norm_loops<float>() {
    static const NormLoops<float> loops = MASHAL_SELECT(norm_loops_float)();
    return loops;
}
template <>
const NormLoops<double>& norm_loops<double>() {
    static const NormLoops<double> loops = MASHAL_SELECT(norm_loops_double)();
    return loops;
}

namespace {

// The sizes of the last dimensions must be normalized_shape; `rows` counts the rest.
struct Rows {
    Rows(std::string_view op, const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias) {
        const size_t k = shape.size(), ndim = input.sizes().size();
        MASHAL_CHECK(k > 0, op, "normalized_shape must have at least one dimension, got ().");
        const bool fits = k <= ndim && equal(IntSpan(input.sizes()).subspan(ndim - k), shape);
        MASHAL_CHECK(fits, op, "input must end in normalized_shape ", shape_text(shape), ", got input ", text(input),
                     ".");
        MASHAL_CHECK(!weight.defined() || equal(weight.sizes(), shape), op, "weight must have shape normalized_shape ",
                     shape_text(shape), ", got weight ", text(weight), ".");
        MASHAL_CHECK(!bias.defined() || equal(bias.sizes(), shape), op, "bias must have shape normalized_shape ",
                     shape_text(shape), ", got bias ", text(bias), ".");
        MASHAL_CHECK(is_floating(input.dtype()), op, "not implemented for '", dtype_legacy_name(input.dtype()), "'");
        for (int64_t s : shape) n *= s;
        for (size_t d = 0; d < ndim; d++) stats.push_back(d < ndim - k ? input.sizes()[d] : 1);
        for (int64_t s : stats) rows *= s;
    }
    int64_t rows = 1, n = 1;
    IntVec stats;  // shape of mean and rstd
};

// native_layer_norm(input, normalized_shape, weight, bias, eps) -> (out, mean, rstd)
void layer_norm_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const Rows at(c.name(), input, c.ints(1), c.tensor(2), c.tensor(3));
    c.result(input.sizes(), input.dtype(), input.device());
    c.result(at.stats, stats_dtype(input), input.device());
    c.result(at.stats, stats_dtype(input), input.device());
}

// _rms_norm(input, normalized_shape, weight, eps) -> (out, rstd)
void rms_norm_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const Rows at(c.name(), input, c.ints(1), c.tensor(2), Tensor());
    c.result(input.sizes(), input.dtype(), input.device());
    c.result(at.stats, stats_dtype(input), input.device());
}

template <class T>
void norm_rows(Call& c, bool centred) {
    const Tensor input = c.tensor(0);
    const Rows at(c.name(), input, c.ints(1), Tensor(), Tensor());
    const RowSource<T> x(input);
    const Operand<T> w(c.tensor(2)), b(centred ? c.tensor(3) : Tensor());
    const double eps = c.f64(centred ? 4 : 3);
    const RowTarget<T> y(c.out[0]);
    T* mean_out = centred ? c.out[1].data<T>() : nullptr;
    T* rstd_out = c.out[centred ? 2 : 1].data<T>();
    if (at.rows > 0) {
        const NormLoops<T>& loops = norm_loops<T>();
        const ReduceLoops stats = find_reduce_loops(centred ? Reduce::Moments : Reduce::SumSquares, dtype_of<T>::value);
        const T *wp = w.data(), *bp = b.data();
        const int64_t n = at.n;
        AllowThreads unlocked(at.rows * n > kGrain);
        parallel_for(0, at.rows, std::max<int64_t>(kGrain / std::max<int64_t>(4 * n, 1), 1),
                     [&](int64_t begin, int64_t end) {
                         const auto buffers = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(2 * n));
                         for (int64_t r = begin; r < end; r++) {
                             const T* xp = x.row(r * n, n, buffers.get());
                             MomentsAcc acc{0, 0, 0};
                             double mean = 0, second = 0;
                             if (centred) {
                                 stats.rows(1, 0, n, xp, &acc, 0);
                                 mean = acc.mean;
                                 second = acc.m2;
                             } else {
                                 stats.rows(1, 0, n, xp, &second, 0);
                             }
                             const double rstd = 1 / std::sqrt(second / static_cast<double>(n) + eps);
                             if (mean_out != nullptr) mean_out[r] = static_cast<T>(mean);
                             rstd_out[r] = static_cast<T>(rstd);
                             if (n == 0) continue;
                             T* yp = y.row(r * n, buffers.get() + n);
                             loops.normalise(n, xp, static_cast<T>(mean), static_cast<T>(rstd), wp, bp, yp);
                             y.written(r * n, n, yp);
                         }
                     });
    }
    y.finish();
}

void norm_rows_kernel(Call& c, bool centred) {
    visit_floating(c.name(), compute_dtype(c.tensor(0).dtype()),
                   [&](auto tag) { norm_rows<decltype(tag)>(c, centred); });
}

// _layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, need_input, need_weight, need_bias)
//   -> (input, weight, bias); what is not needed has no elements. mean None: rms_norm.
void norm_rows_backward_shape(Call& c) {
    const Tensor input = c.tensor(1), mean = c.tensor(3), rstd = c.tensor(4);
    const Rows at(c.name(), input, c.ints(2), c.tensor(5), Tensor());
    check_shape(c.name(), "grad", c.tensor(0), input.sizes());
    if (mean) check_shape(c.name(), "mean", mean, at.stats);
    check_shape(c.name(), "rstd", rstd, at.stats);
    const int64_t none[1] = {0};
    c.result(c.flag(6) ? IntSpan(input.sizes()) : none, input.dtype(), input.device());
    const DType t = c.has(5) ? c.tensor(5).dtype() : input.dtype();
    c.result(c.flag(7) ? c.ints(2) : none, t, input.device());
    c.result(c.flag(8) ? c.ints(2) : none, t, input.device());
}

template <class T>
void norm_rows_backward(Call& c) {
    const Tensor input = c.tensor(1);
    const RowSource<T> g(c.tensor(0)), x(input);
    const Operand<T> mean(c.tensor(3)), rstd(c.tensor(4)), w(c.tensor(5));
    const RowTarget<T> dx(c.out[0]);
    const Target<T> dw(c.out[1]), db(c.out[2]);
    int64_t n = 1;
    for (int64_t s : c.ints(2)) n *= s;
    const int64_t rows = n == 0 ? 0 : input.numel() / n;
    const NormLoops<T>& loops = norm_loops<T>();
    const T *mp = mean.data(), *rp = rstd.data(), *wp = w.data();
    T *dwp = dw.data(), *dbp = db.data();
    // Each worker sums weight gradients over 64 rows in T, then in double.
    const int workers = std::max(1, rows * n < kGrain ? 1 : num_threads());
    std::vector<double> totals(static_cast<size_t>(workers * 2 * n), 0.0);
    {
        AllowThreads unlocked(rows * n > kGrain);
        const int64_t share = (rows + workers - 1) / workers;
        parallel_for(0, workers, 1, [&](int64_t p0, int64_t p1) {
            std::vector<T> part(static_cast<size_t>(2 * n));
            const auto buffers = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(3 * n));
            for (int64_t p = p0; p < p1; p++) {
                const int64_t end = std::min(rows, (p + 1) * share);
                for (int64_t r0 = p * share; r0 < end; r0 += 64) {
                    std::fill(part.begin(), part.end(), T(0));
                    for (int64_t r = r0; r < std::min(end, r0 + 64); r++) {
                        double sum_g = 0, sum_gx = 0;
                        const T centre = mp == nullptr ? T(0) : mp[r];
                        const T* gp = g.row(r * n, n, buffers.get());
                        const T* xp = x.row(r * n, n, buffers.get() + n);
                        T* dxp = dx.wanted() ? dx.row(r * n, buffers.get() + 2 * n) : nullptr;
                        if (dxp != nullptr) loops.sums(n, gp, xp, centre, wp, &sum_g, &sum_gx);
                        const T mean_g = mp == nullptr ? T(0) : static_cast<T>(sum_g / static_cast<double>(n));
                        const T mean_gx = static_cast<T>(sum_gx * rp[r] / static_cast<double>(n));
                        loops.normalise_backward(n, gp, xp, centre, rp[r], wp, mean_g, mean_gx, dxp,
                                                 dwp == nullptr ? nullptr : part.data(),
                                                 dbp == nullptr ? nullptr : part.data() + n);
                        if (dxp != nullptr) dx.written(r * n, n, dxp);
                    }
                    double* total = totals.data() + p * 2 * n;
                    for (int64_t j = 0; j < 2 * n; j++) total[j] += static_cast<double>(part[static_cast<size_t>(j)]);
                }
            }
        });
        for (int p = 1; p < workers; p++)
            for (int64_t j = 0; j < 2 * n; j++)
                totals[static_cast<size_t>(j)] += totals[static_cast<size_t>(p * 2 * n + j)];
        if (dwp != nullptr)
            for (int64_t j = 0; j < n; j++) dwp[j] = static_cast<T>(totals[static_cast<size_t>(j)]);
        if (dbp != nullptr)
            for (int64_t j = 0; j < n; j++) dbp[j] = static_cast<T>(totals[static_cast<size_t>(n + j)]);
    }
    dx.finish();
    dw.finish();
    db.finish();
}

void norm_rows_backward_kernel(Call& c) {
    visit_floating(c.name(), compute_dtype(c.tensor(1).dtype()),
                   [&](auto tag) { norm_rows_backward<decltype(tag)>(c); });
}

// ---- group_norm
// -------------------------------------------------------------------------------------------------------
void check_groups(std::string_view op, const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias) {
    MASHAL_CHECK(input.dim() >= 2, op, "input must have at least 2 dimensions (N, C, *), got input ", text(input), ".");
    MASHAL_CHECK(groups > 0, op, "num_groups must be positive, got ", groups, ".");
    const int64_t channels = input.size(1);
    MASHAL_CHECK(channels % groups == 0, op,
                 "the number of channels of input must be divisible by num_groups, got input ", text(input),
                 " and num_groups ", groups, ".");
    const int64_t shape[1] = {channels};
    MASHAL_CHECK(!weight.defined() || equal(weight.sizes(), shape), op, "weight must have ", channels,
                 " elements, one for each channel, got weight ", text(weight), ".");
    MASHAL_CHECK(!bias.defined() || equal(bias.sizes(), shape), op, "bias must have ", channels,
                 " elements, one for each channel, got bias ", text(bias), ".");
    MASHAL_CHECK(is_floating(input.dtype()), op, "not implemented for '", dtype_legacy_name(input.dtype()), "'");
}

// _group_norm(input, num_groups, weight, bias, eps) -> (out, mean, rstd)
void group_norm_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const int64_t groups = c.i64(1);
    check_groups("group_norm", input, groups, c.tensor(2), c.tensor(3));
    const int64_t stats[2] = {input.size(0), groups};
    c.result_like(input);
    c.result(stats, stats_dtype(input), input.device());
    c.result(stats, stats_dtype(input), input.device());
}

template <class T>
void group_norm(Call& c) {
    const Tensor input = c.tensor(0);
    const Operand<T> x(input), w(c.tensor(2)), b(c.tensor(3));
    const Target<T> y(c.out[0]);
    const int64_t groups = c.i64(1), batch = input.size(0), channels = input.size(1);
    const int64_t area = batch * channels == 0 ? 0 : input.numel() / (batch * channels);
    const int64_t width = channels / groups, n = width * area;
    const double eps = c.f64(4);
    T *mean_out = c.out[1].data<T>(), *rstd_out = c.out[2].data<T>();
    {
        const ReduceLoops stats = find_reduce_loops(Reduce::Moments, dtype_of<T>::value);
        const NormLoops<T>& loops = norm_loops<T>();
        const T *xp = x.data(), *wp = w.data(), *bp = b.data();
        T* yp = y.data();
        AllowThreads unlocked(input.numel() > kGrain);
        parallel_for(0, batch * groups, std::max<int64_t>(kGrain / std::max<int64_t>(n * 4, 1), 1),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t r = begin; r < end; r++) {
                             MomentsAcc acc{0, 0, 0};
                             stats.rows(1, 0, n, xp + r * n, &acc, 0);
                             const double rstd = 1 / std::sqrt(acc.m2 / static_cast<double>(n) + eps);
                             mean_out[r] = static_cast<T>(acc.mean);
                             rstd_out[r] = static_cast<T>(rstd);
                             for (int64_t k = 0; k < width && area > 0; k++) {
                                 const int64_t channel = r % groups * width + k;
                                 const double scale = rstd * (wp == nullptr ? 1.0 : static_cast<double>(wp[channel]));
                                 const double shift =
                                     (bp == nullptr ? 0.0 : static_cast<double>(bp[channel])) - acc.mean * scale;
                                 loops.affine(area, xp + r * n + k * area, static_cast<T>(scale), static_cast<T>(shift),
                                              yp + r * n + k * area);
                             }
                         }
                     });
    }
    y.finish();
}

// _group_norm_backward(grad, input, num_groups, mean, rstd, weight, need_input, need_weight, need_bias)
void group_norm_backward_shape(Call& c) {
    const Tensor input = c.tensor(1);
    check_groups(c.name(), input, c.i64(2), c.tensor(5), Tensor());
    const int64_t stats[2] = {input.size(0), c.i64(2)};
    check_shape(c.name(), "grad", c.tensor(0), input.sizes());
    check_shape(c.name(), "mean", c.tensor(3), stats);
    check_shape(c.name(), "rstd", c.tensor(4), stats);
    const int64_t none[1] = {0}, channels[1] = {input.size(1)};
    if (c.flag(6))
        c.result_like(input);
    else
        c.result(none, input.dtype(), input.device());
    const DType t = c.has(5) ? c.tensor(5).dtype() : input.dtype();
    c.result(c.flag(7) ? channels : none, t, input.device());
    c.result(c.flag(8) ? channels : none, t, input.device());
}

template <class T>
void group_norm_backward(Call& c) {
    const Tensor input = c.tensor(1);
    const Operand<T> g(c.tensor(0)), x(input), mean(c.tensor(3)), rstd(c.tensor(4)), w(c.tensor(5));
    const Target<T> dx(c.out[0]), dw(c.out[1]), db(c.out[2]);
    const int64_t groups = c.i64(2), batch = input.size(0), channels = input.size(1);
    const int64_t area = batch * channels == 0 ? 0 : input.numel() / (batch * channels);
    const int64_t width = channels / groups, n = width * area;
    std::vector<double> sums(static_cast<size_t>(2 * batch * channels), 0.0);  // of g and g (x - mean), by (n, c)
    {
        const NormLoops<T>& loops = norm_loops<T>();
        const T *gp = g.data(), *xp = x.data(), *mp = mean.data(), *rp = rstd.data(), *wp = w.data();
        T *dxp = dx.data(), *dwp = dw.data(), *dbp = db.data();
        double *sg = sums.data(), *sgx = sums.data() + batch * channels;
        AllowThreads unlocked(input.numel() > kGrain);
        parallel_for(0, batch * groups, std::max<int64_t>(kGrain / std::max<int64_t>(n * 4, 1), 1),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t r = begin; r < end; r++) {
                             double s1 = 0, s2 = 0;
                             for (int64_t k = 0; k < width; k++) {
                                 const int64_t row = r * width + k, channel = r % groups * width + k;
                                 if (area > 0)
                                     loops.sums(area, gp + row * area, xp + row * area, mp[r], nullptr, sg + row,
                                                sgx + row);
                                 const double weight = wp == nullptr ? 1.0 : static_cast<double>(wp[channel]);
                                 s1 += weight * sg[row];
                                 s2 += weight * sgx[row];
                             }
                             if (dxp == nullptr || area == 0) continue;
                             const double rs = static_cast<double>(rp[r]);
                             const double b = -rs * rs * rs * s2 / static_cast<double>(n);
                             const double shift = -rs * s1 / static_cast<double>(n) - b * static_cast<double>(mp[r]);
                             for (int64_t k = 0; k < width; k++) {
                                 const int64_t row = r * width + k, channel = r % groups * width + k;
                                 const double a = rs * (wp == nullptr ? 1.0 : static_cast<double>(wp[channel]));
                                 loops.combine(area, gp + row * area, xp + row * area, static_cast<T>(a),
                                               static_cast<T>(b), static_cast<T>(shift), dxp + row * area);
                             }
                         }
                     });
        for (int64_t k = 0; k < channels; k++) {
            double a = 0, b = 0;
            for (int64_t i = 0; i < batch; i++) {
                a += sgx[i * channels + k] * static_cast<double>(rp[i * groups + k / width]);
                b += sg[i * channels + k];
            }
            if (dwp != nullptr) dwp[k] = static_cast<T>(a);
            if (dbp != nullptr) dbp[k] = static_cast<T>(b);
        }
    }
    dx.finish();
    dw.finish();
    db.finish();
}

void group_norm_kernel(Call& c) {
    visit_floating("group_norm", compute_dtype(c.tensor(0).dtype()), [&](auto tag) { group_norm<decltype(tag)>(c); });
}
void group_norm_backward_kernel(Call& c) {
    visit_floating("group_norm", compute_dtype(c.tensor(1).dtype()),
                   [&](auto tag) { group_norm_backward<decltype(tag)>(c); });
}

const OpRegistration registrations[] = {
    {"native_layer_norm", {.shape = layer_norm_shape, .kernel = [](Call& c) { norm_rows_kernel(c, true); }}},
    {"_rms_norm", {.shape = rms_norm_shape, .kernel = [](Call& c) { norm_rows_kernel(c, false); }}},
    {"_layer_norm_backward", {.shape = norm_rows_backward_shape, .kernel = norm_rows_backward_kernel}},
    {"_group_norm", {.shape = group_norm_shape, .kernel = group_norm_kernel}},
    {"_group_norm_backward", {.shape = group_norm_backward_shape, .kernel = group_norm_backward_kernel}},
};

}  // namespace
}  // namespace mashal
