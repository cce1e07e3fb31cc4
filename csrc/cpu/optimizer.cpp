// Fused optimizer steps: one call for all parameters of a group.
#include "cpu/optimizer_loops.h"

#include <cmath>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/copy.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

template <class T>
const OptimizerLoops<T>& loops() {
    if constexpr (sizeof(T) == 4) {
        static const OptimizerLoops<T> table = MASHAL_SELECT(optimizer_loops_float)();
        return table;
    } else {
        static const OptimizerLoops<T> table = MASHAL_SELECT(optimizer_loops_double)();
        return table;
    }
}

using Tensors = SmallVec<Tensor, 4>;

// Every list holds one tensor per parameter, of its shape and type and contiguous.
void check_lists(const Call& c, const Tensors& params, std::initializer_list<const Tensors*> lists) {
    for (const Tensors* list : lists) {
        MASHAL_CHECK(list->size() == params.size(), c.name(), "expected one tensor per parameter (", params.size(),
                     "), got ", list->size());
        for (size_t i = 0; i < params.size(); i++) {
            const Tensor &t = (*list)[i], &p = params[i];
            MASHAL_CHECK(t.is_contiguous() && t.dtype() == p.dtype() && t.numel() == p.numel(), c.name(), "state ", i,
                         " must be contiguous and match its parameter ", text(p), ", got ", text(t));
        }
    }
    for (const Tensor& p : params)
        MASHAL_CHECK(
            p.is_contiguous() && p.dtype() == params[0].dtype() && (p.dtype() == DType::F32 || p.dtype() == DType::F64),
            c.name(), "parameters must be contiguous and of one type, float32 or float64, got ", text(p));
}

void bump(const Tensors& list) {
    for (const Tensor& t : list) t->bump_version();
}

template <class T>
void adam_steps(Call& c, const Tensors& params, const SmallVec<double, 4>& steps) {
    const Tensors &grads = c.tensors(1), &means = c.tensors(2), &squares = c.tensors(3), &largest = c.tensors(4);
    double lr = c.f64(6), beta1 = c.f64(7), beta2 = c.f64(8), weight_decay = c.f64(10);
    bool amsgrad = !largest.empty();
    struct Job {
        T *p, *g, *m, *v, *vmax;
        int64_t n;
        AdamStep<T> step;
    };
    std::vector<Job> jobs;
    jobs.reserve(params.size());
    int64_t total = 0;
    for (size_t i = 0; i < params.size(); i++) {
        double correction1 = 1 - std::pow(beta1, steps[i]), correction2 = 1 - std::pow(beta2, steps[i]);
        AdamStep<T> s{static_cast<T>(1 - beta1),
                      static_cast<T>(beta2),
                      static_cast<T>(1 - beta2),
                      static_cast<T>(c.f64(9)),
                      static_cast<T>(weight_decay),
                      static_cast<T>(1 - lr * weight_decay),
                      static_cast<T>(lr / correction1),
                      static_cast<T>(std::sqrt(correction2)),
                      c.flag(11),
                      c.flag(12)};
        jobs.push_back({params[i].data<T>(), grads[i].data<T>(), means[i].data<T>(), squares[i].data<T>(),
                        amsgrad ? largest[i].data<T>() : nullptr, params[i].numel(), s});
        total += params[i].numel();
    }
    AllowThreads threads(total > kGrain);
    for (Job& job : jobs)
        parallel_for(0, job.n, kGrain, [&](int64_t b, int64_t e) {
            loops<T>().adam(e - b, job.p + b, job.g + b, job.m + b, job.v + b, job.vmax ? job.vmax + b : nullptr,
                            job.step);
        });
}

// Adam and AdamW (Kingma and Ba, 2015; Loshchilov and Hutter, 2019), amsgrad (Reddi et al., 2018).
void fused_adam(Call& c) {
    const Tensors& params = c.tensors(0);
    if (params.empty()) return;
    check_lists(c, params, {&c.tensors(1), &c.tensors(2), &c.tensors(3)});
    if (!c.tensors(4).empty()) check_lists(c, params, {&c.tensors(4)});
    MASHAL_CHECK(c.tensors(5).size() == params.size(), c.name(), "expected one step count per parameter");
    SmallVec<double, 4> steps;
    for (const Tensor& t : c.tensors(5)) {
        double step = load_scalar(t.data(), t.dtype()).to_double() + 1;
        store_scalar(t.data(), t.dtype(), Scalar::of(step));
        steps.push_back(step);
    }
    if (params[0].dtype() == DType::F32)
        adam_steps<float>(c, params, steps);
    else
        adam_steps<double>(c, params, steps);
    bump(params);
    bump(c.tensors(2));
    bump(c.tensors(3));
    bump(c.tensors(4));
}

template <class T>
void sgd_steps(Call& c, const Tensors& params) {
    const Tensors &grads = c.tensors(1), &buffers = c.tensors(2);
    SgdStep<T> s{static_cast<T>(c.f64(3)),
                 static_cast<T>(c.f64(4)),
                 static_cast<T>(1 - c.f64(5)),
                 static_cast<T>(c.f64(6)),
                 c.flag(7),
                 c.flag(8),
                 c.flag(9)};
    struct Job {
        T *p, *g, *buffer;
        int64_t n;
    };
    std::vector<Job> jobs;
    jobs.reserve(params.size());
    int64_t total = 0;
    for (size_t i = 0; i < params.size(); i++) {
        jobs.push_back({params[i].data<T>(), grads[i].data<T>(), buffers.empty() ? nullptr : buffers[i].data<T>(),
                        params[i].numel()});
        total += params[i].numel();
    }
    AllowThreads threads(total > kGrain);
    for (Job& job : jobs)
        parallel_for(0, job.n, kGrain, [&](int64_t b, int64_t e) {
            loops<T>().sgd(e - b, job.p + b, job.g + b, job.buffer ? job.buffer + b : nullptr, s);
        });
}

void fused_sgd(Call& c) {
    const Tensors& params = c.tensors(0);
    if (params.empty()) return;
    check_lists(c, params, {&c.tensors(1)});
    if (!c.tensors(2).empty()) check_lists(c, params, {&c.tensors(2)});
    if (params[0].dtype() == DType::F32)
        sgd_steps<float>(c, params);
    else
        sgd_steps<double>(c, params);
    bump(params);
    bump(c.tensors(2));
}

const OpRegistration registrations[] = {
    {"_fused_adam", {.kernel = fused_adam}},
    {"_fused_sgd", {.kernel = fused_sgd}},
};

}  // namespace

}  // namespace mashal
