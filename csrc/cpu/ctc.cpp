// Connectionist temporal classification (Graves et al. 2006): the loss over all alignments of a target with an input,
// by a forward pass over times and states, and its gradient by a backward pass.
//
// The states of a target of length L are blank, t_0, blank, t_1, ..., blank: 2 L + 1 of them. An alignment stays, moves
// on by one, or skips a blank between two different labels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

// Arguments of both primitives:
// _ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity)
// _ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths,
//                    Tensor loss, Tensor log_alpha, int blank, bool zero_infinity)
struct Problem {
    Problem(const Call& c, size_t first, int64_t blank_label)
        : inputs(c.ints(first + 2)), labels(c.ints(first + 3)), blank(blank_label) {
        const Tensor log_probs = c.tensor(first), targets = c.tensor(first + 1);
        times = log_probs.size(0);
        batch = log_probs.size(1);
        classes = log_probs.size(2);
        padded = targets.dim() == 2;
        stride = padded ? targets.size(1) : 0;
        for (int64_t length : labels) longest = std::max(longest, length);
    }
    int64_t states() const { return 2 * longest + 1; }
    // Where the labels of a batch item begin.
    int64_t begin(int64_t item) const {
        if (padded) return item * stride;
        int64_t at = 0;
        for (int64_t i = 0; i < item; i++) at += labels[static_cast<size_t>(i)];
        return at;
    }

    IntSpan inputs, labels;
    int64_t blank, times = 0, batch = 0, classes = 0, stride = 0, longest = 0;
    bool padded = false;
};

// Checks the arguments from position `first` on.
Problem checked_problem(const Call& c, size_t first, int64_t blank_label) {
    const Tensor log_probs = c.tensor(first), targets = c.tensor(first + 1);
    const char* op = "ctc_loss";
    MASHAL_CHECK(log_probs.dtype() == DType::F32 || log_probs.dtype() == DType::F64, op, "not implemented for '",
                 dtype_legacy_name(log_probs.dtype()), "', log_probs must be float32 or float64");
    MASHAL_CHECK(targets.dtype() == DType::I64 || targets.dtype() == DType::I32, op,
                 "targets must be int64 or int32, got targets ", text(targets));
    MASHAL_CHECK(log_probs.dim() == 3, op, "log_probs must be (T, N, C) or (T, C), got log_probs ", text(log_probs));
    MASHAL_CHECK(targets.dim() == 1 || targets.dim() == 2, op,
                 "targets must be (N, S) or one row of all labels, got targets ", text(targets));
    const Problem p(c, first, blank_label);
    MASHAL_CHECK(p.batch > 0, op, "log_probs must have at least one batch item, got log_probs ", text(log_probs));
    MASHAL_CHECK(p.blank >= 0 && p.blank < p.classes, op, "blank must be in label range [0, ", p.classes - 1,
                 "], got blank ", p.blank);
    MASHAL_CHECK(static_cast<int64_t>(p.inputs.size()) == p.batch, op, "input_lengths must be of size batch_size ",
                 p.batch, ", got ", p.inputs.size());
    MASHAL_CHECK(static_cast<int64_t>(p.labels.size()) == p.batch, op, "target_lengths must be of size batch_size ",
                 p.batch, ", got ", p.labels.size());
    int64_t total = 0;
    for (int64_t n : p.labels) {
        MASHAL_CHECK(n >= 0, op, "Expected target_lengths to have value at least 0, but got value ", n);
        MASHAL_CHECK(!p.padded || n <= p.stride, op, "Expected target_lengths to have value at most ", p.stride,
                     ", but got value ", n);
        total = checked_sum(op, total, n);
    }
    if (p.padded)
        MASHAL_CHECK(targets.size(0) == p.batch, op, "targets must have batch_size ", p.batch, " rows, got targets ",
                     text(targets));
    else
        MASHAL_CHECK(targets.size(0) == total, op, "targets must have sum(target_lengths) = ", total,
                     " labels, got targets ", text(targets));
    for (int64_t n : p.inputs) {
        MASHAL_CHECK(n >= 0, op, "Expected input_lengths to have value at least 0, but got value ", n);
        MASHAL_CHECK(n <= p.times, op, "Expected input_lengths to have value at most ", p.times, ", but got value ", n);
    }
    return p;
}

void ctc_shape(Call& c) {
    const Tensor log_probs = c.tensor(0);
    const Problem p = checked_problem(c, 0, c.i64(4));
    c.result(IntVec{p.batch}, log_probs.dtype(), log_probs.device());
    c.result(IntVec{p.batch, p.times, p.states()}, log_probs.dtype(), log_probs.device());
}

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_add(T a, T b) {
    const T most = std::max(a, b);
    return most == kNever<T> ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}
template <class T>
T log_add(T a, T b, T c) {
    const T most = std::max({a, b, c});
    return most == kNever<T> ? most : most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// One batch item: its labels, and the log-probabilities as rows of a time each.
template <class T>
struct Item {
    const T* log_probs;  // of time 0
    int64_t row;         // elements from one time to the next
    const int64_t* labels;
    int64_t length, blank;

    int64_t states() const { return 2 * length + 1; }
    int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
    // Whether a path may go from `state` to `state + 2`.
    bool skips(int64_t state) const {
        return state + 2 < states() && state % 2 == 1 && labels[state / 2] != labels[state / 2 + 1];
    }
    T at(int64_t time, int64_t state) const { return log_probs[time * row + label(state)]; }
};

void check_labels(const Problem& p, const int64_t* labels) {
    for (int64_t i = 0; i < p.batch; i++)
        for (int64_t k = p.begin(i); k < p.begin(i) + p.labels[static_cast<size_t>(i)]; k++)
            MASHAL_CHECK(labels[k] >= 0 && labels[k] < p.classes, "ctc_loss", "targets must hold labels in [0, ",
                         p.classes - 1, "], got ", labels[k]);
}

template <class T>
void ctc(Call& c) {
    const Problem p(c, 0, c.i64(4));
    const Tensor log_probs = contiguous(c.tensor(0)), targets = contiguous(to_dtype(c.tensor(1), DType::I64));
    const T* x = log_probs.data<T>();
    const int64_t* labels = targets.data<int64_t>();
    check_labels(p, labels);
    T* loss = c.out[0].data<T>();
    T* alphas = c.out[1].data<T>();
    const int64_t states = p.states();
    AllowThreads threads(p.batch * p.times * states > kGrain);
    std::fill(alphas, alphas + c.out[1].get()->numel, kNever<T>);
    parallel_for(0, p.batch, 1, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; i++) {
            const Item<T> item{x + i * p.classes, p.batch * p.classes, labels + p.begin(i),
                               p.labels[static_cast<size_t>(i)], p.blank};
            const int64_t length = p.inputs[static_cast<size_t>(i)], n = item.states();
            if (length == 0) {
                loss[i] = item.length == 0 ? T(0) : -kNever<T>;
                continue;
            }
            T* alpha = alphas + i * p.times * states;
            alpha[0] = item.at(0, 0);
            if (n > 1) alpha[1] = item.at(0, 1);
            for (int64_t t = 1; t < length; t++) {
                const T* before = alpha + (t - 1) * states;
                T* now = alpha + t * states;
                for (int64_t s = 0; s < n; s++) {
                    const T stay = before[s], step = s > 0 ? before[s - 1] : kNever<T>;
                    const T skip = s > 1 && item.skips(s - 2) ? before[s - 2] : kNever<T>;
                    now[s] = log_add(stay, step, skip) + item.at(t, s);
                }
            }
            const T* last = alpha + (length - 1) * states;
            loss[i] = -(n > 1 ? log_add(last[n - 1], last[n - 2]) : last[0]);
        }
    });
}

void ctc_kernel(Call& c) {
    if (c.tensor(0).dtype() == DType::F32)
        ctc<float>(c);
    else
        ctc<double>(c);
}

void ctc_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), log_probs = c.tensor(1), loss = c.tensor(5), log_alpha = c.tensor(6);
    const Problem p = checked_problem(c, 1, c.i64(7));
    const int64_t items[1] = {p.batch}, alphas[3] = {p.batch, p.times, p.states()};
    check_shape("ctc_loss", "grad", grad, items);
    check_shape("ctc_loss", "loss", loss, items);
    check_shape("ctc_loss", "log_alpha", log_alpha, alphas);
    check_dtype("ctc_loss", "grad", grad, log_probs.dtype());
    check_dtype("ctc_loss", "loss", loss, log_probs.dtype());
    check_dtype("ctc_loss", "log_alpha", log_alpha, log_probs.dtype());
    c.result(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

template <class T>
void ctc_backward(Call& c) {
    const Problem p(c, 1, c.i64(7));
    const Tensor log_probs = contiguous(c.tensor(1)), targets = contiguous(to_dtype(c.tensor(2), DType::I64));
    const Tensor grad_out = contiguous(c.tensor(0)), losses = contiguous(c.tensor(5)), kept = contiguous(c.tensor(6));
    const T* x = log_probs.data<T>();
    const int64_t* labels = targets.data<int64_t>();
    check_labels(p, labels);
    const T *g = grad_out.data<T>(), *loss = losses.data<T>(), *alphas = kept.data<T>();
    const bool zero_infinity = c.flag(8);
    T* out = c.out[0].data<T>();
    const int64_t states = p.states(), row = p.batch * p.classes;
    AllowThreads threads(p.batch * p.times * states > kGrain);
    std::fill(out, out + p.times * row, T(0));
    parallel_for(0, p.batch, 1, [&](int64_t from, int64_t to) {
        std::vector<T> beta(static_cast<size_t>(states)), next(static_cast<size_t>(states));
        std::vector<T> mass(static_cast<size_t>(p.classes));  // log of the paths through a label at this time
        for (int64_t i = from; i < to; i++) {
            if (zero_infinity && loss[i] == -kNever<T>) continue;
            const Item<T> item{x + i * p.classes, row, labels + p.begin(i), p.labels[static_cast<size_t>(i)], p.blank};
            const int64_t length = p.inputs[static_cast<size_t>(i)], n = item.states();
            for (int64_t t = length - 1; t >= 0; t--) {
                const T* alpha = alphas + (i * p.times + t) * states;
                std::fill(mass.begin(), mass.end(), kNever<T>);
                for (int64_t s = 0; s < n; s++) {
                    const auto k = static_cast<size_t>(s);
                    if (t == length - 1) {
                        beta[k] = s >= n - 2 ? item.at(t, s) : kNever<T>;
                    } else {
                        const T step = s + 1 < n ? next[k + 1] : kNever<T>;
                        const T skip = item.skips(s) ? next[k + 2] : kNever<T>;
                        beta[k] = log_add(next[k], step, skip) + item.at(t, s);
                    }
                    T& sum = mass[static_cast<size_t>(item.label(s))];
                    sum = log_add(sum, alpha[s] + beta[k]);
                }
                T* grad = out + t * row + i * p.classes;
                const T* probs = item.log_probs + t * row;
                for (int64_t k = 0; k < p.classes; k++)
                    grad[k] = (std::exp(probs[k]) - std::exp(mass[static_cast<size_t>(k)] + loss[i] - probs[k])) * g[i];
                std::swap(beta, next);
            }
        }
    });
}

void ctc_backward_kernel(Call& c) {
    if (c.tensor(1).dtype() == DType::F32)
        ctc_backward<float>(c);
    else
        ctc_backward<double>(c);
}

const OpRegistration registrations[] = {
    {"_ctc_loss", {.shape = ctc_shape, .kernel = ctc_kernel}},
    {"_ctc_loss_backward", {.shape = ctc_backward_shape, .kernel = ctc_backward_kernel}},
};

}  // namespace
}  // namespace mashal
