// Accuracy and speed of the pointwise loops, measured against long double libm. Not part of the Python test-suite.
// Build: see README.md beside this file. Run: MASHAL_ISA=baseline|avx2|avx512 accuracy [time]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cpu/pointwise_loops.h"

namespace {

using Ref1 = long double (*)(long double);
using Ref2 = long double (*)(long double, long double);
using real = long double;

const real kPi = acosl(-1.0L);

struct Case1 {
    const char* op;
    Ref1 ref;
    double limit32, limit64;  // permitted ULP
    double lo, hi;            // where errors count
    std::vector<double> params = {};
};
struct Case2 {
    const char* op;
    Ref2 ref;
    double limit32, limit64;
    double lo, hi;
    std::vector<double> params = {};
};

real sigmoid(real x) { return 1 / (1 + expl(-x)); }
real softplus(real x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }
real elu(real x) { return x > 0 ? x : expm1l(x); }
real torch_remainder(real a, real b) {
    real m = fmodl(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

const double kInf = std::numeric_limits<double>::infinity();

const Case1 kUnary[] = {
    {"exp", expl, 1, 1, -kInf, kInf},
    {"exp2", exp2l, 1, 1.1, -kInf, kInf},
    {"expm1", expm1l, 1, 2, -kInf, kInf},
    {"log", logl, 1, 1, -kInf, kInf},
    {"log2", log2l, 1, 1, -kInf, kInf},
    {"log10", log10l, 1, 2, -kInf, kInf},
    {"log1p", log1pl, 1, 1, -kInf, kInf},
    {"sqrt", sqrtl, 0.5, 0.5, -kInf, kInf},
    {"rsqrt", [](real x) { return 1 / sqrtl(x); }, 1.5, 1.5, -kInf, kInf},
    {"reciprocal", [](real x) { return 1 / x; }, 0.5, 0.5, -kInf, kInf},
    {"sin", sinl, 2, 1, -kInf, kInf},
    {"cos", cosl, 2, 1, -kInf, kInf},
    {"tan", tanl, 1, 1, -kInf, kInf},
    {"asin", asinl, 1, 1, -kInf, kInf},
    {"acos", acosl, 1, 1, -kInf, kInf},
    {"atan", atanl, 1, 1, -kInf, kInf},
    {"sinh", sinhl, 1, 2, -kInf, kInf},
    {"cosh", coshl, 1, 2, -kInf, kInf},
    {"tanh", tanhl, 2, 2.5, -kInf, kInf},
    {"asinh", asinhl, 1, 2, -kInf, kInf},
    {"acosh", acoshl, 1, 2, -kInf, kInf},
    {"atanh", atanhl, 1, 2, -kInf, kInf},
    {"erf", erfl, 1.2, 1.2, -kInf, kInf},
    {"erfc", erfcl, 1, 4, -kInf, kInf},
    {"lgamma", lgammal, 1, 10, -1.5, kInf},
    {"sigmoid", sigmoid, 2.2, 2.2, -kInf, kInf},
    {"logsigmoid", [](real x) { return -softplus(-x); }, 2, 2, -kInf, kInf},
    {"silu", [](real x) { return x * sigmoid(x); }, 3, 3, -87, kInf},
    {"softplus", softplus, 2, 2, -kInf, 20, {1.0, 20.0}},
    {"mish", [](real x) { return x * tanhl(softplus(x)); }, 3.5, 3.5, -87, kInf},
    {"gelu", [](real x) { return x * 0.5L * erfcl(-x / sqrtl(2.0L)); }, 4.5, 2000, -100, kInf},
    {"gelu_tanh", [](real x) { return x * sigmoid(2 * sqrtl(2 / kPi) * (x + 0.044715L * x * x * x)); }, 8, 8, -2, kInf},
    {"elu", elu, 2, 2, -kInf, kInf, {1.0, 1.0, 1.0}},
    {"sinc", [](real x) { return x == 0 ? 1 : sinl(kPi * x) / (kPi * x); }, 1, 10, -0.9, 0.9},
    {"logit", [](real x) { return logl(x / (1 - x)); }, 2, 2, 0, 0.25},
    {"deg2rad", [](real x) { return x * kPi / 180; }, 1.5, 1.5, -kInf, kInf},
    {"ndtr", [](real x) { return 0.5L * erfcl(-x / sqrtl(2.0L)); }, 1, 2000, -100, kInf},
    {"round", rintl, 0, 0, -kInf, kInf},
    {"floor", floorl, 0, 0, -kInf, kInf},
    {"ceil", ceill, 0, 0, -kInf, kInf},
    {"trunc", truncl, 0, 0, -kInf, kInf},
    {"square", [](real x) { return x * x; }, 0.5, 0.5, -kInf, kInf},
    {"hardswish", [](real x) { return x * fminl(fmaxl(x + 3, 0), 6) / 6; }, 3, 3, -1, 1e30},
};
const Case2 kBinary[] = {
    {"pow", powl, 1, 1, -kInf, kInf},
    {"atan2", atan2l, 1, 1, -kInf, kInf},
    {"hypot", hypotl, 1, 1, -kInf, kInf},
    {"fmod", fmodl, 0, 0, -kInf, kInf},
    {"remainder", torch_remainder, 0.5, 0.5, -kInf, kInf},
    {"div", [](real a, real b) { return a / b; }, 0.5, 0.5, -kInf, kInf},
    {"xlogy", [](real a, real b) { return a == 0 && b == b ? 0 : a * logl(b); }, 2, 2, -kInf, kInf},
    {"mul", [](real a, real b) { return a * b; }, 0.5, 0.5, -kInf, kInf},
};

template <class T>
std::vector<T> samples(int per_octave) {
    std::vector<T> v;
    uint64_t state = 88172645463325252ull;
    int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
    int step = sizeof(T) == 8 ? 3 : 1;
    for (int e = lowest; e <= std::numeric_limits<T>::max_exponent; ++e) {
        bool middle = e > -40 && e < 12;
        if (!middle && e % step != 0) continue;
        int count = middle ? per_octave : per_octave / 8;
        for (int k = 0; k < count; ++k) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            T m = static_cast<T>(0.5 + 0.5 * static_cast<double>(state >> 11) * 0x1p-53);
            T x = std::ldexp(m, e);
            v.push_back(k % 2 ? x : -x);
        }
        v.push_back(std::ldexp(T(0.5), e));
        v.push_back(-std::ldexp(T(0.5), e));
    }
    for (T edge : {T(0.5), T(1), T(2), T(3), T(0.625), T(0.9275), T(88.72), T(-103.97), T(20)}) {
        T up = edge, down = edge;
        for (int k = 0; k < 50; ++k) {
            v.push_back(up), v.push_back(down), v.push_back(-up), v.push_back(-down);
            up = std::nextafter(up, std::numeric_limits<T>::infinity());
            down = std::nextafter(down, T(0));
        }
    }
    for (T x : {T(0), -T(0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(),
                std::numeric_limits<T>::min(), std::numeric_limits<T>::denorm_min()}) {
        v.push_back(x);
    }
    return v;
}

// Distance in units of the last place of the reference, rounded to T's grid (denormals included).
template <class T>
double ulp_error(T got, real ref) {
    T rounded = static_cast<T>(ref);
    if (rounded != rounded || got != got) return (rounded != rounded) == (got != got) ? 0 : kInf;
    if (std::isinf(rounded) || std::isinf(got)) {
        // Overflow may begin one step earlier or later.
        T other = std::isinf(got) ? rounded : got;
        bool near = std::fabs(other) == std::numeric_limits<T>::max() && std::signbit(got) == std::signbit(rounded);
        return got == rounded ? 0 : near ? 1 : kInf;
    }
    if (got == T(0) && rounded == T(0)) return std::signbit(got) == std::signbit(rounded) ? 0 : 0.01;
    int e = 0;
    std::frexp(rounded == T(0) ? std::numeric_limits<T>::denorm_min() : rounded, &e);
    e = std::max(e, std::numeric_limits<T>::min_exponent);
    real ulp = ldexpl(1.0L, e - std::numeric_limits<T>::digits);
    return static_cast<double>(fabsl(static_cast<real>(got) - ref) / ulp);
}

int failures = 0;
void report(const char* op, const char* type, double worst, double limit, double a, double b, double got, double ref) {
    bool bad = !(worst <= limit);
    failures += bad ? 1 : 0;
    std::printf("%-14s %s  %8.3f ULP (limit %g)%s", op, type, worst, limit, bad ? "  EXCEEDED" : "");
    if (bad) std::printf(" at %a (%.9g) %.9g: got %.17g, expected %.17g", a, a, b, got, ref);
    std::printf("\n");
}

template <class T>
void check_unary(const Case1& c, const std::vector<T>& x) {
    auto type = sizeof(T) == 4 ? mashal::DType::F32 : mashal::DType::F64;
    auto loop = mashal::find_pointwise_loop(c.op, type, nullptr);
    if (loop == nullptr) {
        std::printf("%s: no loop\n", c.op);
        ++failures;
        return;
    }
    std::vector<T> y(x.size());
    const void* in[] = {x.data()};
    loop(static_cast<int64_t>(x.size()), y.data(), in, c.params.data());
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (x[i] < c.lo || x[i] > c.hi) continue;
        double e = ulp_error(y[i], c.ref(x[i]));
        if (e > worst) worst = e, at = i;
    }
    // A little above one half is what rounding the long double reference itself may cost.
    double limit = sizeof(T) == 4 ? c.limit32 : c.limit64;
    report(c.op, sizeof(T) == 4 ? "f32" : "f64", worst, limit + 0.001, x[at], 0, y[at],
           static_cast<double>(c.ref(x[at])));
}

template <class T>
void check_binary(const Case2& c, const std::vector<T>& pool) {
    auto type = sizeof(T) == 4 ? mashal::DType::F32 : mashal::DType::F64;
    auto loop = mashal::find_pointwise_loop(c.op, type, nullptr);
    if (loop == nullptr) {
        std::printf("%s: no loop\n", c.op);
        ++failures;
        return;
    }
    std::vector<T> a, b;
    uint64_t state = 1234567;
    auto next = [&](size_t n) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return static_cast<size_t>(state % n);
    };
    for (int k = 0; k < 200000; ++k) a.push_back(pool[next(pool.size())]), b.push_back(pool[next(pool.size())]);
    for (size_t i = pool.size() - 9; i < pool.size(); ++i) {
        for (size_t j = pool.size() - 9; j < pool.size(); ++j) a.push_back(pool[i]), b.push_back(pool[j]);
        for (T v : {T(1), T(-1), T(2), T(-3), T(0.5), T(-0.5), T(0x1p24), T(0x1p24) - 1}) {
            a.push_back(pool[i]), b.push_back(v), a.push_back(v), b.push_back(pool[i]);
        }
    }
    std::vector<T> y(a.size());
    const void* in[] = {a.data(), b.data()};
    loop(static_cast<int64_t>(a.size()), y.data(), in, c.params.data());
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        double e = ulp_error(y[i], c.ref(a[i], b[i]));
        if (e > worst) worst = e, at = i;
    }
    double limit = sizeof(T) == 4 ? c.limit32 : c.limit64;
    report(c.op, sizeof(T) == 4 ? "f32" : "f64", worst, limit + 0.001, a[at], b[at], y[at],
           static_cast<double>(c.ref(a[at], b[at])));
}

double time_loop(mashal::PointwiseLoop loop, mashal::DType type, int n_inputs) {
    constexpr int64_t n = 2048;
    std::vector<double> storage[4];
    const void* in[3];
    for (int k = 0; k < 3; ++k) {
        storage[k].resize(2 * n);
        for (int64_t i = 0; i < n; ++i) {
            double v = 0.05 + static_cast<double>((i * 37 + k * 11) % 1000) * 9e-4;
            if (type == mashal::DType::F32) reinterpret_cast<float*>(storage[k].data())[i] = static_cast<float>(v);
            if (type == mashal::DType::F64) storage[k][i] = v;
            if (type == mashal::DType::C64) reinterpret_cast<float*>(storage[k].data())[2 * i] = static_cast<float>(v);
            if (type == mashal::DType::I32)
                reinterpret_cast<int32_t*>(storage[k].data())[i] = static_cast<int32_t>(i % 97 + 1);
            if (type == mashal::DType::I64) reinterpret_cast<int64_t*>(storage[k].data())[i] = i % 97 + 1;
            if (type == mashal::DType::U8)
                reinterpret_cast<uint8_t*>(storage[k].data())[i] = static_cast<uint8_t>(i % 97 + 1);
        }
        in[k] = storage[k].data();
    }
    (void)n_inputs;
    storage[3].resize(2 * n);
    double params[8] = {1, 20, 1, 0, 0, 0, 0, 0};
    double best = 1e9;
    for (int repeat = 0; repeat < 60; ++repeat) {
        auto t0 = std::chrono::steady_clock::now();
        loop(n, storage[3].data(), in, params);
        std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - t0;
        best = std::min(best, d.count() / n);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    std::printf("isa: %s\n", mashal::active_isa());
    if (argc > 1 && std::strcmp(argv[1], "time") == 0) {
        for (int k = 2; k < argc; ++k) {
            std::printf("%-26s ns/element", argv[k]);
            using mashal::DType;
            for (DType t : {DType::F32, DType::F64, DType::C64, DType::U8, DType::I32, DType::I64}) {
                const auto* entry = mashal::find_pointwise_entry(argv[k], t);
                if (entry == nullptr) continue;
                const char* names[] = {"bool", "u8",   "i8",  "i16", "i32", "i64",
                                       "f16",  "bf16", "f32", "f64", "c64", "c128"};
                std::printf("  %s %6.3f", names[static_cast<int>(t)], time_loop(entry->loop, t, entry->n_inputs));
            }
            std::printf("\n");
        }
        return 0;
    }
    auto x32 = samples<float>(4000);
    auto x64 = samples<double>(1500);
    for (const auto& c : kUnary) {
        check_unary<float>(c, x32);
        check_unary<double>(c, x64);
    }
    for (const auto& c : kBinary) {
        check_binary<float>(c, x32);
        check_binary<double>(c, x64);
    }
    std::printf("%d exceeded\n", failures);
    return failures != 0;
}
