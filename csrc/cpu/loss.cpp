// nll_loss and cross entropy from class indices, forward and backward.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/pointwise_loops.h"
#include "cpu/softmax_loops.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// input (N, C, *) or (C,); target (N, *) or ().
struct Classes {
    Classes(IntSpan sizes) {
        if (sizes.size() == 1) {
            channels = sizes[0];
        } else {
            outer = sizes[0];
            channels = sizes[1];
            for (size_t d = 2; d < sizes.size(); d++) inner *= sizes[d];
        }
    }
    int64_t outer = 1, channels = 1, inner = 1;
};

void check_classes(std::string_view op, const Tensor& input, const Tensor& target, const Tensor& weight) {
    MASHAL_CHECK(input.dim() >= 1, op, "input must have at least 1 dimension, the classes, got input ", text(input),
                 ".");
    MASHAL_CHECK(target.dtype() == DType::I64 || target.dtype() == DType::U8, op,
                 "target must hold class indices of type int64 (or uint8), got target ", text(target), ".");
    MASHAL_CHECK_AS(NotImplemented, is_floating(input.dtype()), op, "not implemented for '",
                    dtype_legacy_name(input.dtype()), "'");
    if (input.dim() > 1)
        MASHAL_CHECK_AS(Value, target.dim() == 0 || input.size(0) == target.size(0), op, "Expected input batch_size (",
                        input.size(0), ") to match target batch_size (", target.dim() == 0 ? 0 : target.size(0),
                        "), got input ", text(input), " and target ", text(target), ".");
    IntVec expected = input.sizes();
    expected.erase(input.dim() == 1 ? 0 : 1);
    MASHAL_CHECK(target.sizes() == expected, op, "target must have the shape of input without its classes, ",
                 shape_text(expected), ", got input ", text(input), " and target ", text(target), ".");
    const int64_t channels = input.size(input.dim() == 1 ? 0 : 1);
    MASHAL_CHECK(!weight.defined() || (weight.dim() == 1 && weight.size(0) == channels), op,
                 "weight should be defined either for all ", channels, " classes or no classes, got weight ",
                 weight.defined() ? shape_text(weight.sizes()) : shape_text({}), ".");
}

int64_t checked_class(std::string_view op, int64_t t, int64_t channels) {
    MASHAL_CHECK_AS(Index, t >= 0 && t < channels, op, "Target ", t, " is out of bounds: classes are in [0, ",
                    channels - 1, "], and ignore_index names the one to be left out.");
    return t;
}

void announce_loss(Call& c, const Tensor& input, const Tensor& target, int64_t reduction) {
    if (reduction == kNone)
        c.result(target.sizes(), input.dtype(), input.device());
    else
        c.result({}, input.dtype(), input.device());
}

// ---- _nll_loss(input, target, weight, reduction, ignore_index) -> (loss, total_weight)
// --------------------------------
void nll_shape(Call& c) {
    const Tensor input = c.tensor(0), target = c.tensor(1);
    check_classes("nll_loss", input, target, c.tensor(2));
    announce_loss(c, input, target, c.i64(3));
    c.result({}, compute_dtype(input.dtype()), input.device());
}

template <class T>
void nll(Call& c) {
    const Tensor input = contiguous(to_dtype(c.tensor(0), dtype_of<T>::value));
    const Tensor target = contiguous(to_dtype(c.tensor(1), DType::I64));
    const Tensor weight = c.has(2) ? contiguous(to_dtype(c.tensor(2), dtype_of<T>::value)) : Tensor();
    const int64_t reduction = c.i64(3), ignore = c.i64(4);
    const Classes at(input.sizes());
    const bool none = reduction == kNone;
    const Tensor losses =
        none ? (c.out[0].dtype() == dtype_of<T>::value ? c.out[0] : empty(c.out[0].sizes(), dtype_of<T>::value))
             : Tensor();
    const T *x = input.data<T>(), *w = weight.defined() ? weight.data<T>() : nullptr;
    const int64_t* t = target.data<int64_t>();
    double sum = 0, total = 0;
    for (int64_t i = 0; i < at.outer; i++)
        for (int64_t j = 0; j < at.inner; j++) {
            const int64_t k = t[i * at.inner + j];
            T loss = 0;
            if (k != ignore) {
                checked_class("nll_loss", k, at.channels);
                const T wk = w == nullptr ? T(1) : w[k];
                loss = -wk * x[(i * at.channels + k) * at.inner + j];
                total += static_cast<double>(wk);
            }
            sum += static_cast<double>(loss);
            if (none) losses.data<T>()[i * at.inner + j] = loss;
        }
    if (none) {
        if (!losses.is_same(c.out[0])) copy_into(c.out[0], losses);
    } else {
        copy_into(c.out[0], scalar_tensor(reduction == kMean ? sum / total : sum, DType::F64));
    }
    c.out[1].data<T>()[0] = static_cast<T>(total);
}

// _nll_loss_backward(grad, target, weight, total_weight, input_shape, reduction, ignore_index)
void nll_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), target = c.tensor(1);
    checked_numel("nll_loss", c.ints(4));
    check_classes("nll_loss", empty(c.ints(4), grad.dtype(), Device{DeviceType::Meta, -1}), target, c.tensor(2));
    check_shape("nll_loss", "grad", grad, c.i64(5) == kNone ? IntSpan(target.sizes()) : IntSpan());
    check_shape("nll_loss", "total_weight", c.tensor(3), {});
    c.result(c.ints(4), grad.dtype(), grad.device());
}

template <class T>
void nll_backward(Call& c) {
    const Tensor grad = contiguous(to_dtype(c.tensor(0), dtype_of<T>::value));
    const Tensor target = contiguous(to_dtype(c.tensor(1), DType::I64));
    const Tensor weight = c.has(2) ? contiguous(to_dtype(c.tensor(2), dtype_of<T>::value)) : Tensor();
    const Tensor total = to_dtype(c.tensor(3), dtype_of<T>::value);
    const int64_t reduction = c.i64(5), ignore = c.i64(6);
    const Tensor out = c.out[0];
    const Tensor result = out.dtype() == dtype_of<T>::value ? out : empty(out.sizes(), dtype_of<T>::value);
    fill(result, Scalar::of(int64_t{0}));
    const Classes at(out.sizes());
    const T *g = grad.data<T>(), *w = weight.defined() ? weight.data<T>() : nullptr;
    const int64_t* t = target.data<int64_t>();
    T* y = result.data<T>();
    for (int64_t i = 0; i < at.outer; i++)
        for (int64_t j = 0; j < at.inner; j++) {
            const int64_t at_target = i * at.inner + j, k = t[at_target];
            if (k == ignore) continue;
            checked_class("nll_loss", k, at.channels);
            T v = -(w == nullptr ? T(1) : w[k]) * (reduction == kNone ? g[at_target] : g[0]);
            if (reduction == kMean) v /= total.data<T>()[0];
            y[(i * at.channels + k) * at.inner + j] = v;
        }
    if (!result.is_same(out)) copy_into(out, result);
}

// ---- _cross_entropy(input (N, C), target (N,), weight, reduction, ignore_index, label_smoothing)
// -----------------------
//   -> (loss, log-sum-exps (N,), total_weight): log-probabilities are never stored.
void check_matrix_classes(const Tensor& input, const Tensor& target, const Tensor& weight) {
    MASHAL_CHECK(input.dim() == 2, "cross_entropy", "input must be (N, C), got input ", text(input), ".");
    check_classes("cross_entropy", input, target, weight);
}

void cross_entropy_shape(Call& c) {
    const Tensor input = c.tensor(0), target = c.tensor(1);
    check_matrix_classes(input, target, c.tensor(2));
    announce_loss(c, input, target, c.i64(3));
    c.result(target.sizes(), compute_dtype(input.dtype()), input.device());
    c.result({}, compute_dtype(input.dtype()), input.device());
}

// Rows of a tensor as T: in place, or through a buffer for the half types.
template <class T>
class RowReader {
public:
    RowReader(const char* data, DType t, int64_t n) : data_(data), n_(n), item_(item_size(t)) {
        if (t == dtype_of<T>::value) return;
        convert_ = find_convert_loop(t, dtype_of<T>::value);
        buffer_.resize(static_cast<size_t>(n));
    }
    const T* row(int64_t r) {
        const char* at = data_ + r * n_ * item_;
        if (convert_ == nullptr) return reinterpret_cast<const T*>(at);
        convert_(n_, buffer_.data(), at);
        return buffer_.data();
    }

private:
    const char* data_;
    int64_t n_, item_;
    ConvertLoop convert_ = nullptr;
    std::vector<T> buffer_;
};

template <class T>
void cross_entropy(Call& c) {
    const Tensor input = contiguous(c.tensor(0));
    const Tensor target = contiguous(to_dtype(c.tensor(1), DType::I64));
    const Tensor weight = c.has(2) ? contiguous(to_dtype(c.tensor(2), dtype_of<T>::value)) : Tensor();
    const int64_t reduction = c.i64(3), ignore = c.i64(4);
    const double smoothing = c.f64(5);
    const int64_t rows = input.size(0), n = input.size(1);
    const DType t_in = input.dtype();
    const SoftmaxLoops<T>& loops = softmax_loops<T>();
    const char* x = input.data<char>();
    const T* w = weight.defined() ? weight.data<T>() : nullptr;
    const int64_t* target_data = target.data<int64_t>();
    T* lse = c.out[1].data<T>();
    double weight_sum = static_cast<double>(n);
    if (w != nullptr) weight_sum = loops.weighted_sum(n, w, nullptr);
    std::vector<double> losses(static_cast<size_t>(rows));
    {
        AllowThreads unlocked(rows * n > kGrain);
        parallel_for(0, rows, std::max<int64_t>(kGrain / std::max<int64_t>(8 * n, 1), 1),
                     [&](int64_t begin, int64_t end) {
                         RowReader<T> reader(x, t_in, n);
                         for (int64_t r = begin; r < end; r++) {
                             const int64_t k = target_data[r];
                             if (k != ignore) checked_class("cross_entropy", k, n);
                             const T* row = reader.row(r);
                             lse[r] = loops.log_sum_exp(n, row);
                             if (k == ignore) continue;
                             const auto z = static_cast<double>(lse[r]);
                             const double wk = w == nullptr ? 1.0 : static_cast<double>(w[k]);
                             double loss = wk * (z - static_cast<double>(row[k]));
                             if (smoothing > 0) {
                                 const double smooth = weight_sum * z - loops.weighted_sum(n, row, w);
                                 loss = (1 - smoothing) * loss + smoothing / static_cast<double>(n) * smooth;
                             }
                             losses[static_cast<size_t>(r)] = loss;
                         }
                     });
    }
    double sum = 0, total = 0;
    for (int64_t r = 0; r < rows; r++) {
        sum += losses[static_cast<size_t>(r)];
        const int64_t k = target_data[r];
        if (k != ignore) total += w == nullptr ? 1.0 : static_cast<double>(w[k]);
    }
    if (reduction == kNone) {
        const Tensor wide = empty(target.sizes(), DType::F64);
        std::copy(losses.begin(), losses.end(), wide.data<double>());
        copy_into(c.out[0], wide);
    } else {
        copy_into(c.out[0], scalar_tensor(reduction == kMean ? sum / total : sum, DType::F64));
    }
    c.out[2].data<T>()[0] = static_cast<T>(total);
}

// _cross_entropy_backward(grad, input, target, weight, log_sum_exp, total_weight, reduction, ignore_index,
// label_smoothing)
void cross_entropy_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), input = c.tensor(1), target = c.tensor(2);
    check_matrix_classes(input, target, c.tensor(3));
    check_shape("cross_entropy", "grad", grad, c.i64(6) == kNone ? IntSpan(target.sizes()) : IntSpan());
    check_shape("cross_entropy", "log_sum_exp", c.tensor(4), target.sizes());
    check_dtype("cross_entropy", "log_sum_exp", c.tensor(4), compute_dtype(input.dtype()));
    check_shape("cross_entropy", "total_weight", c.tensor(5), {});
    check_dtype("cross_entropy", "total_weight", c.tensor(5), compute_dtype(input.dtype()));
    c.result(input.sizes(), input.dtype(), input.device());
}

template <class T>
void cross_entropy_backward(Call& c) {
    const Tensor grad = contiguous(to_dtype(c.tensor(0), dtype_of<T>::value)), input = contiguous(c.tensor(1));
    const Tensor target = contiguous(to_dtype(c.tensor(2), DType::I64));
    const Tensor weight = c.has(3) ? contiguous(to_dtype(c.tensor(3), dtype_of<T>::value)) : Tensor();
    const Tensor lse_tensor = contiguous(c.tensor(4)), total = c.tensor(5);
    const int64_t reduction = c.i64(6), ignore = c.i64(7);
    const double smoothing = c.f64(8);
    const int64_t rows = input.size(0), n = input.size(1);
    const DType t_in = input.dtype();
    const bool direct = t_in == dtype_of<T>::value;
    const ConvertLoop narrow = direct ? nullptr : find_convert_loop(dtype_of<T>::value, t_in);
    const SoftmaxLoops<T>& loops = softmax_loops<T>();
    const char* x = input.data<char>();
    char* y = c.out[0].data<char>();
    const int64_t item = item_size(t_in);
    const T *g = grad.data<T>(), *w = weight.defined() ? weight.data<T>() : nullptr, *lse = lse_tensor.data<T>();
    const int64_t* target_data = target.data<int64_t>();
    const double divisor = reduction == kMean ? static_cast<double>(total.data<T>()[0]) : 1.0;
    const double weight_sum = w == nullptr ? static_cast<double>(n) : loops.weighted_sum(n, w, nullptr);
    const double uniform = smoothing / static_cast<double>(n);
    AllowThreads unlocked(rows * n > kGrain);
    parallel_for(0, rows, std::max<int64_t>(kGrain / std::max<int64_t>(8 * n, 1), 1), [&](int64_t begin, int64_t end) {
        RowReader<T> reader(x, t_in, n);
        std::vector<T> buffer(direct ? 0 : static_cast<size_t>(n));
        for (int64_t r = begin; r < end; r++) {
            T* row = direct ? reinterpret_cast<T*>(y) + r * n : buffer.data();
            const int64_t k = target_data[r];
            if (k == ignore) {
                std::fill(row, row + n, T(0));
            } else {
                checked_class("cross_entropy", k, n);
                const double wk = (w == nullptr ? 1.0 : static_cast<double>(w[k])) * (1 - smoothing);
                const double scale = static_cast<double>(reduction == kNone ? g[r] : g[0]) / divisor;
                loops.probabilities(n, reader.row(r), lse[r], static_cast<T>(wk + uniform * weight_sum),
                                    static_cast<T>(uniform), w, static_cast<T>(scale), row);
                row[k] = static_cast<T>(static_cast<double>(row[k]) - wk * scale);
            }
            if (!direct) narrow(n, y + r * n * item, row);
        }
    });
}

#define MASHAL_FLOAT_KERNEL(name, input)                                                                          \
    [](Call& c) {                                                                                                 \
        visit_floating(#name, compute_dtype(c.tensor(input).dtype()), [&](auto tag) { name<decltype(tag)>(c); }); \
    }

const OpRegistration registrations[] = {
    {"_nll_loss", {.shape = nll_shape, .kernel = MASHAL_FLOAT_KERNEL(nll, 0)}},
    {"_nll_loss_backward", {.shape = nll_backward_shape, .kernel = MASHAL_FLOAT_KERNEL(nll_backward, 0)}},
    {"_cross_entropy", {.shape = cross_entropy_shape, .kernel = MASHAL_FLOAT_KERNEL(cross_entropy, 0)}},
    {"_cross_entropy_backward",
     {.shape = cross_entropy_backward_shape, .kernel = MASHAL_FLOAT_KERNEL(cross_entropy_backward, 1)}},
};

}  // namespace
}  // namespace mashal
