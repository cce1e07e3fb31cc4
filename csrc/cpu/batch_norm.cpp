// batch_norm by channel, forward and backward, for channels-first and channels-last memory.
#include <algorithm>

#include "cpu/checks.h"
#include "cpu/layout.h"
#include "cpu/norm_common.h"
#include "dispatch/opaque.h"

namespace mashal {
namespace {

// The memory of a dense tensor as outer x channels x inner, inner being contiguous.
struct Channels {
    explicit Channels(const Tensor& t) : channels(t.size(1)) {
        const int64_t rest = channels == 0 ? 0 : t.numel() / channels;
        last = t.dim() == 2 || !t.is_contiguous();
        outer = last ? rest : t.size(0);
        inner = last ? 1 : t.size(0) == 0 ? 0 : rest / t.size(0);
    }
    bool last = false;
    int64_t outer = 1, channels = 1, inner = 1;
};

// t in a memory format this file works on: contiguous or channels-last.
Tensor by_channel(const Tensor& t, DType dtype) {
    Tensor source = to_dtype(t, dtype);
    const bool last = (t.dim() == 4 && is_contiguous_as(source, MemoryFormat::ChannelsLast)) ||
                      (t.dim() == 5 && is_contiguous_as(source, MemoryFormat::ChannelsLast3d));
    return last && !source.is_contiguous() ? source : contiguous(source);
}

// dtype copy of t in the memory format of `like`.
Tensor as_laid_out(const Tensor& t, const Tensor& like) {
    if (t.dtype() == like.dtype() && equal(t.strides(), like.strides())) return t;
    Tensor out = empty_strided(like.sizes(), like.strides(), like.dtype());
    copy_into(out, t);
    return out;
}

// Runs f(first row, rows) over rows of channels-last memory, or g(channel) over channels of channels-first memory.
template <class F, class G>
void by_layout(const Channels& at, F&& rows, G&& channel) {
    const int64_t n = at.outer * at.inner;
    if (at.last)
        parallel_for(0, at.outer, std::max<int64_t>(kGrain / std::max<int64_t>(at.channels, 1), 1), rows);
    else
        parallel_for(0, at.channels, std::max<int64_t>(kGrain / std::max<int64_t>(n, 1), 1), [&](int64_t b, int64_t e) {
            for (int64_t k = b; k < e; k++) channel(k);
        });
}

// _batch_norm(input, weight, bias, running_mean, running_var, training, eps) -> (out, mean, rstd, var)
// `var` is the unbiased variance of the batch (training) or the running one.
void batch_norm_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(input.dim() >= 2, "batch_norm", "input must have at least 2 dimensions (N, C, *), got input ",
                 text(input), ".");
    MASHAL_CHECK_AS(NotImplemented, is_floating(input.dtype()), "batch_norm", "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    const int64_t shape[1] = {input.size(1)};
    static constexpr const char* kNames[] = {"input", "weight", "bias", "running_mean", "running_var"};
    for (size_t i = 1; i <= 4; i++) {
        const Tensor t = c.tensor(i);
        MASHAL_CHECK(!t.defined() || t.numel() == shape[0], "batch_norm", kNames[i], " should contain ", shape[0],
                     " elements, one for each channel, not ", t.defined() ? t.numel() : 0, ", got input ", text(input),
                     ".");
    }
    MASHAL_CHECK(c.flag(5) || (c.has(3) && c.has(4)), "batch_norm",
                 "running_mean and running_var must be defined in evaluation mode. Give them, or use training=True.");
    MASHAL_CHECK_AS(Value, !c.flag(5) || input.numel() == 0 || input.numel() != shape[0], "batch_norm",
                    "Expected more than 1 value per channel when training, got input size ", shape_text(input.sizes()));
    c.result_like(input);
    for (int i = 0; i < 3; i++) c.result(shape, stats_dtype(input), input.device());
}

// Fills the results mean, rstd and var, and the factors by channel: out = x * scale + shift.
template <class T>
void batch_norm_factors(Call& c, const Tensor& source, const Channels& at, T* scale, T* shift) {
    const DType loop = dtype_of<T>::value;
    const Operand<T> w(c.tensor(1)), b(c.tensor(2));
    const double eps = c.f64(6);
    T *mean = c.out[1].data<T>(), *rstd = c.out[2].data<T>(), *var = c.out[3].data<T>();
    const int64_t count = at.outer * at.inner;
    auto settle = [&](int64_t k, double m, double biased) {
        const double r = 1 / std::sqrt(biased + eps);
        mean[k] = static_cast<T>(m);
        rstd[k] = static_cast<T>(r);
        const double a = r * (w.data() == nullptr ? 1.0 : static_cast<double>(w.data()[k]));
        scale[k] = static_cast<T>(a);
        shift[k] = static_cast<T>((b.data() == nullptr ? 0.0 : static_cast<double>(b.data()[k])) - m * a);
    };
    if (c.flag(5)) {
        auto finish = [&](const void* acc, int64_t n, int64_t offset, int64_t stride) {
            auto* moments = static_cast<const MomentsAcc*>(acc);
            for (int64_t j = 0; j < n; j++) {
                const int64_t k = offset + j * stride;
                settle(k, moments[j].mean, moments[j].m2 / static_cast<double>(count));
                var[k] = static_cast<T>(moments[j].m2 / static_cast<double>(count - 1));
            }
        };
        reduce_tensor(source, ~uint64_t{2}, find_reduce_loops(Reduce::Moments, loop), loop, 0, finish);
    } else {
        const Operand<T> running_mean(c.tensor(3)), running_var(c.tensor(4));
        for (int64_t k = 0; k < at.channels; k++) {
            var[k] = running_var.data()[k];
            settle(k, static_cast<double>(running_mean.data()[k]), static_cast<double>(var[k]));
        }
    }
}

template <class T>
void batch_norm(Call& c) {
    const Tensor input = c.tensor(0), out = c.out[0];
    const DType loop = dtype_of<T>::value;
    const Tensor source = by_channel(input, loop);
    const Channels at(source);
    std::vector<T> scale(static_cast<size_t>(at.channels)), shift(static_cast<size_t>(at.channels));
    batch_norm_factors(c, source, at, scale.data(), shift.data());
    const Tensor target = out.dtype() == loop && equal(out.strides(), source.strides())
                              ? out
                              : empty_strided(source.sizes(), source.strides(), loop);
    {
        const NormLoops<T>& loops = norm_loops<T>();
        const T* x = source.data<T>();
        T* y = target.data<T>();
        AllowThreads unlocked(source.numel() > kGrain);
        by_layout(
            at,
            [&](int64_t r0, int64_t r1) {
                loops.affine_columns(r1 - r0, at.channels, x + r0 * at.channels, scale.data(), shift.data(),
                                     y + r0 * at.channels);
            },
            [&](int64_t k) {
                for (int64_t i = 0; i < at.outer; i++) {
                    const int64_t offset = (i * at.channels + k) * at.inner;
                    loops.affine(at.inner, x + offset, scale[static_cast<size_t>(k)], shift[static_cast<size_t>(k)],
                                 y + offset);
                }
            });
    }
    if (!target.is_same(out)) copy_into(out, target);
}

// On an opaque float32 image only the statistics are calculated; the result is the image with a tail.
bool batch_norm_deferred(Call& c) {
    const Tensor input = c.tensor(0);
    const Tensor image = input.dtype() == DType::F32 ? physical(input) : Tensor();
    if (!image || c.out_given) return false;
    c.op.shape(c);
    c.out.push_back(Tensor());
    for (size_t i = 1; i < c.specs.size(); i++) c.out.push_back(make_tensor(c.specs[i]));
    const Channels at(image);
    Tail tail;
    tail.affine = make_ref<Storage>(static_cast<size_t>(2 * at.channels) * sizeof(float), Device{});
    auto* scale = static_cast<float*>(tail.affine->data());
    batch_norm_factors(c, image, at, scale, scale + at.channels);
    c.out[0] = show_image(image, {image->storage, std::move(tail)});
    return true;
}

// _batch_norm_backward(grad, input, weight, mean, rstd, training, need_input, need_weight, need_bias)
void batch_norm_backward_shape(Call& c) {
    const Tensor input = c.tensor(1), weight = c.tensor(2);
    MASHAL_CHECK(input.dim() >= 2, c.name(), "input must have at least 2 dimensions (N, C, *), got input ", text(input),
                 ".");
    check_floating(c.name(), input);
    const int64_t none[1] = {0}, channels[1] = {input.size(1)};
    check_shape(c.name(), "grad", c.tensor(0), input.sizes());
    MASHAL_CHECK(!weight || weight.numel() == channels[0], c.name(), "weight must have ", channels[0],
                 " elements, one for each channel, got weight ", text(weight ? weight : input), ".");
    check_shape(c.name(), "mean", c.tensor(3), channels);
    check_shape(c.name(), "rstd", c.tensor(4), channels);
    if (c.flag(6))
        c.result_like(input);
    else
        c.result(none, input.dtype(), input.device());
    const DType t = c.has(2) ? c.tensor(2).dtype() : input.dtype();
    c.result(c.flag(7) ? channels : none, t, input.device());
    c.result(c.flag(8) ? channels : none, t, input.device());
}

template <class T>
void batch_norm_backward(Call& c) {
    const DType loop = dtype_of<T>::value;
    const Tensor source = by_channel(c.tensor(1), loop);
    const Tensor grad = as_laid_out(c.tensor(0), source);
    const Channels at(source);
    const Operand<T> w(c.tensor(2)), mean(c.tensor(3)), rstd(c.tensor(4));
    const Target<T> dw(c.out[1]), db(c.out[2]);
    const bool training = c.flag(5), need_input = c.flag(6);
    const auto count = static_cast<double>(at.outer * at.inner);
    const auto channels = static_cast<size_t>(at.channels);
    const NormLoops<T>& loops = norm_loops<T>();
    const T *g = grad.data<T>(), *x = source.data<T>(), *mp = mean.data(), *rp = rstd.data(), *wp = w.data();
    std::vector<double> sum_g(channels, 0.0), sum_gx(channels, 0.0);
    if (training || dw.data() != nullptr || db.data() != nullptr) {
        AllowThreads unlocked(source.numel() > kGrain);
        if (at.last) {
            const int workers = source.numel() > kGrain ? num_threads() : 1;
            std::vector<double> parts(static_cast<size_t>(workers) * 2 * channels, 0.0);
            const int64_t share = (at.outer + workers - 1) / workers;
            parallel_for(0, workers, 1, [&](int64_t p0, int64_t p1) {
                for (int64_t p = p0; p < p1; p++) {
                    const int64_t r0 = std::min(p * share, at.outer), r1 = std::min(r0 + share, at.outer);
                    double* part = parts.data() + static_cast<size_t>(p) * 2 * channels;
                    loops.sums_columns(r1 - r0, at.channels, g + r0 * at.channels, x + r0 * at.channels, mp, part,
                                       part + channels);
                }
            });
            for (size_t p = 0; p < static_cast<size_t>(workers); p++)
                for (size_t k = 0; k < channels; k++) {
                    sum_g[k] += parts[p * 2 * channels + k];
                    sum_gx[k] += parts[p * 2 * channels + channels + k];
                }
        } else {
            by_layout(
                at, [](int64_t, int64_t) {},
                [&](int64_t k) {
                    for (int64_t i = 0; i < at.outer; i++) {
                        const int64_t offset = (i * at.channels + k) * at.inner;
                        double a = 0, b = 0;
                        loops.sums(at.inner, g + offset, x + offset, mp[k], nullptr, &a, &b);
                        sum_g[static_cast<size_t>(k)] += a;
                        sum_gx[static_cast<size_t>(k)] += b;
                    }
                });
        }
    }
    for (size_t k = 0; k < channels; k++) {
        if (dw.data() != nullptr) dw.data()[k] = static_cast<T>(sum_gx[k] * static_cast<double>(rp[k]));
        if (db.data() != nullptr) db.data()[k] = static_cast<T>(sum_g[k]);
    }
    dw.finish();
    db.finish();
    if (!need_input) return;
    // dx = rstd w (g - mean(g) - (x - mean) rstd^2 mean(g (x - mean))): linear in g and x for each channel.
    std::vector<T> a(channels), b(channels), s(channels);
    for (size_t k = 0; k < channels; k++) {
        const double r = static_cast<double>(rp[k]), scale = r * (wp == nullptr ? 1.0 : static_cast<double>(wp[k]));
        const double slope = training ? -scale * r * r * sum_gx[k] / count : 0.0;
        a[k] = static_cast<T>(scale);
        b[k] = static_cast<T>(slope);
        s[k] = static_cast<T>(training ? -scale * sum_g[k] / count - slope * static_cast<double>(mp[k]) : 0.0);
    }
    const Tensor out = c.out[0];
    const Tensor target = out.dtype() == loop && equal(out.strides(), source.strides())
                              ? out
                              : empty_strided(source.sizes(), source.strides(), loop);
    {
        T* dx = target.data<T>();
        AllowThreads unlocked(source.numel() > kGrain);
        by_layout(
            at,
            [&](int64_t r0, int64_t r1) {
                const int64_t offset = r0 * at.channels;
                loops.combine_columns(r1 - r0, at.channels, g + offset, x + offset, a.data(), b.data(), s.data(),
                                      dx + offset);
            },
            [&](int64_t k) {
                for (int64_t i = 0; i < at.outer; i++) {
                    const int64_t offset = (i * at.channels + k) * at.inner;
                    const auto j = static_cast<size_t>(k);
                    loops.combine(at.inner, g + offset, x + offset, a[j], b[j], s[j], dx + offset);
                }
            });
    }
    if (!target.is_same(out)) copy_into(out, target);
}

const OpaqueRegistration r_opaque{"_batch_norm", batch_norm_deferred};

const OpRegistration registrations[] = {
    {"_batch_norm",
     {.shape = batch_norm_shape,
      .kernel =
          [](Call& c) {
              visit_floating("batch_norm", compute_dtype(c.tensor(0).dtype()),
                             [&](auto tag) { batch_norm<decltype(tag)>(c); });
          },
      .layout = Layout::Follow}},
    {"_batch_norm_backward",
     {.shape = batch_norm_backward_shape,
      .kernel =
          [](Call& c) {
              visit_floating("batch_norm", compute_dtype(c.tensor(1).dtype()),
                             [&](auto tag) { batch_norm_backward<decltype(tag)>(c); });
          },
      .layout = Layout::Follow}},
};

}  // namespace
}  // namespace mashal
