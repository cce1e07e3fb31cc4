// How a gamma sample moves with its shape parameter.
#include <cmath>
#include <limits>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "dispatch/primitive.h"
#include "scalar/special.h"

namespace mashal {

namespace {

// A number and its derivative by the shape parameter.
struct Dual {
    double v, d;
};
Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
Dual reciprocal(Dual a) { return {1 / a.v, -a.d / (a.v * a.v)}; }

// Keeping the quantile P(alpha, x) fixed (Figurnov, Mohamed and Mnih, 2018): dx/dalpha = -(dP/dalpha) / (dP/dx).
// P = x pdf S with S = sum of x^k / (alpha ... (alpha + k)), and 1 - P = x pdf C with Legendre's continued fraction C,
// so the density cancels: dx/dalpha = -x (S (log x - digamma(alpha)) + S'), likewise +x (C (...) + C').
double standard_gamma_grad(double alpha, double x) {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    if (!(x > 0) || !(alpha > 0)) return x == 0 && alpha >= 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    if (alpha > 1e6) {
        // Wilson and Hilferty (1931): cbrt(x / alpha) is normal up to O(1 / alpha), and both sums need sqrt(alpha)
        // terms.
        const double u = std::cbrt(x / alpha), ninth = 1 / (9 * alpha), z3 = u - 1 + ninth;  // z3 = z / (3 sqrt(alpha))
        return u * u * (u + 3 * (ninth - 0.5 * z3));
    }
    const double slope = std::log(x) - scalar::digamma(alpha);
    if (x < alpha + 1) {
        Dual sum{0, 0};
        double term = 1 / alpha, harmonic = 1 / alpha;
        for (double k = 1;; k++) {
            sum = sum + Dual{term, -term * harmonic};
            if (term < kEpsilon * sum.v) break;
            term *= x / (alpha + k);
            harmonic += 1 / (alpha + k);
        }
        return -x * (sum.v * slope + sum.d);
    }
    // Modified Lentz: 1 / (b0 - 1 (1 - alpha) / (b1 - 2 (2 - alpha) / (b2 - ...))), b_k = x + 2 k + 1 - alpha.
    Dual b{x + 1 - alpha, -1}, d = reciprocal(b), h = d, c{1 / std::numeric_limits<double>::min(), 0};
    for (double k = 1;; k++) {
        const Dual a{-k * (k - alpha), k};
        b.v += 2;
        d = reciprocal(a * d + b);
        c = b + a * reciprocal(c);
        const Dual step = d * c;
        h = h * step;
        if (std::abs(step.v - 1) < kEpsilon && std::abs(step.d) * std::abs(h.v) <= kEpsilon * std::abs(h.d)) break;
        if (k > 1e5) break;  // rounding may keep the last bit moving
    }
    return x * (h.v * slope + h.d);
}

// _standard_gamma_grad(Tensor input, Tensor output)
void gamma_grad_shape(Call& c) {
    check_shape(c.name(), "output", c.tensor(1), c.tensor(0).sizes());
    c.result(c.tensor(0).sizes(), c.tensor(0).dtype(), c.tensor(0).device());
}
void gamma_grad_kernel(Call& c) {
    const Tensor out = c.out[0];
    const Tensor alpha = contiguous(c.tensor(0)), sample = contiguous(to_dtype(c.tensor(1), out.dtype()));
    const int64_t n = out.numel();
    AllowThreads threads(n > kGrain / 64);
    visit_floating("_standard_gamma_grad", out.dtype(), [&](auto tag) {
        using T = decltype(tag);
        const T *a = alpha.data<T>(), *x = sample.data<T>();
        T* o = out.data<T>();
        parallel_for(0, n, kGrain / 64, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) o[i] = static_cast<T>(standard_gamma_grad(a[i], x[i]));
        });
    });
}

const OpRegistration registration{"_standard_gamma_grad", {.shape = gamma_grad_shape, .kernel = gamma_grad_kernel}};

}  // namespace

}  // namespace mashal
