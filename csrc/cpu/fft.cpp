// Fourier transforms along one dimension of lengths with small factors: several lines at a time, in vector lanes.
#include <cmath>
#include <memory>
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/fft_loops.h"
#include "dispatch/primitive.h"

namespace mashal {

namespace {

enum Kind : int64_t { kComplex, kHalfOfReal, kRealOfHalf };

template <class T>
struct Plan {
    explicit Plan(int64_t n) : re(static_cast<size_t>(n)), im(static_cast<size_t>(n)) {
        int64_t left = n;
        for (int r : {4, 2, 3, 5, 7, 11, 13})
            while (left % r == 0) {
                factors.push_back(r);
                left /= r;
            }
        MASHAL_CHECK(left == 1, "_fft_lines", "size must have factors up to 13 only, got ", n, ".");
        for (int64_t k = 0; k < n; k++) {
            const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
            re[static_cast<size_t>(k)] = static_cast<T>(std::cos(angle));
            im[static_cast<size_t>(k)] = static_cast<T>(std::sin(angle));
        }
    }
    std::vector<int> factors;
    std::vector<T> re, im;
};

// The plan of the last length, which loops use again and again.
template <class T>
const Plan<T>& plan_of(int64_t n) {
    thread_local int64_t last = -1;
    thread_local std::unique_ptr<Plan<T>> plan;
    if (last != n) {
        plan = std::make_unique<Plan<T>>(n);
        last = n;
    }
    return *plan;
}

// ---- _fft_lines(Tensor input, int dim, int size, int kind, bool forward, float scale) ----
// size: the length of the transform. kind 1 takes real numbers and gives size / 2 + 1 points, kind 2 the reverse.
void lines_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const int64_t dim = c.i64(1), size = c.i64(2), kind = c.i64(3);
    IntVec sizes = input.sizes();
    MASHAL_CHECK(dim >= 0 && dim < input.dim() && size >= 1, "_fft_lines", "dim must be from 0 to ", input.dim() - 1,
                 " and size positive, got ", dim, " and ", size, ".");
    MASHAL_CHECK((input.dtype() == DType::F32 || input.dtype() == DType::F64) == (kind == kHalfOfReal) &&
                     (kind == kHalfOfReal || is_complex(input.dtype())),
                 "_fft_lines", "the type of input does not fit, got input ", text(input), ".");
    const int64_t half = size / 2 + 1;
    MASHAL_CHECK(sizes[dim] == (kind == kRealOfHalf ? half : size), "_fft_lines", "size must be that of input, got ",
                 size, " and input ", text(input), ".");
    sizes[dim] = kind == kHalfOfReal ? half : size;
    DType dtype = input.dtype();
    if (kind == kHalfOfReal) dtype = dtype == DType::F32 ? DType::C64 : DType::C128;
    if (kind == kRealOfHalf) dtype = dtype == DType::C64 ? DType::F32 : DType::F64;
    c.result(sizes, dtype, input.device());
}

template <class T>
struct Loops;
template <>
struct Loops<float> {
    FftLoop<float>* lines = MASHAL_SELECT(fft_lines_f32);
    FftLoad<float>* load = MASHAL_SELECT(fft_load_f32);
    FftStore<float>* store = MASHAL_SELECT(fft_store_f32);
};
template <>
struct Loops<double> {
    FftLoop<double>* lines = MASHAL_SELECT(fft_lines_f64);
    FftLoad<double>* load = MASHAL_SELECT(fft_load_f64);
    FftStore<double>* store = MASHAL_SELECT(fft_store_f64);
};

template <class T>
void transform(const T* x, T* y, int64_t lines, int64_t inner, int64_t n, int64_t kind, bool forward, T scale) {
    constexpr int64_t kLanes = kFftLanes<T>;
    const int64_t half = n / 2 + 1;
    const int64_t given = kind == kRealOfHalf ? half : n, out_parts = kind == kRealOfHalf ? 1 : 2;
    const Plan<T>& plan = plan_of<T>(n);
    const Loops<T> loops;
    const int64_t blocks = (lines + kLanes - 1) / kLanes;
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / (n * kLanes)), [&](int64_t first, int64_t end) {
        std::vector<T> memory(static_cast<size_t>(4 * n * kLanes));
        T* a_re = memory.data();
        T *a_im = a_re + n * kLanes, *b_re = a_im + n * kLanes, *b_im = b_re + n * kLanes;
        int32_t from[kLanes], to[kLanes];
        for (int64_t block = first; block < end; block++) {
            const int64_t used = std::min(kLanes, lines - block * kLanes);
            // Offsets from the block's first line fit 32 bits; lanes without a line repeat the last one.
            auto place = [&](int64_t l, int64_t length) {
                const int64_t line = block * kLanes + l;
                return (line / inner * length * inner) + line % inner;
            };
            const int64_t in_base = place(0, given) * 2, out_base = place(0, n) * out_parts;
            for (int64_t l = 0; l < kLanes; l++) {
                const int64_t lane = std::min(l, used - 1);
                from[l] = static_cast<int32_t>(place(lane, given) * 2 - in_base);
                to[l] = static_cast<int32_t>(place(lane, n) * out_parts - out_base);
            }
            // An inverse transform is a forward one of swapped parts.
            T *re = forward ? a_re : a_im, *im = forward ? a_im : a_re;
            const int64_t in_step = inner * 2;
            loops.load(given, in_step, from, x + in_base, re, im, T(1));
            // What is left of n is the conjugate of what was given, backwards.
            if (given < n)
                loops.load(n - given, -in_step, from, x + in_base + (n - given) * in_step, re + given * kLanes,
                           im + given * kLanes, T(-1));
            const bool in_b = loops.lines(n, plan.factors.data(), static_cast<int>(plan.factors.size()), plan.re.data(),
                                          plan.im.data(), kLanes, a_re, a_im, b_re, b_im);
            re = in_b ? b_re : a_re;
            im = in_b ? b_im : a_im;
            if (!forward) std::swap(re, im);
            loops.store(n, inner * out_parts, to, static_cast<int>(used), re, kind == kRealOfHalf ? nullptr : im, scale,
                        y + out_base);
        }
    });
}

// Two real lines make the parts of one complex line: its transform, and the conjugate of that backwards, give both.
template <class T>
void transform_real(const T* x, T* y, int64_t lines, int64_t inner, int64_t n, T scale) {
    constexpr int64_t kLanes = kFftLanes<T>;
    const int64_t half = n / 2 + 1;
    const Plan<T>& plan = plan_of<T>(n);
    const Loops<T> loops;
    const int64_t blocks = (lines + 2 * kLanes - 1) / (2 * kLanes);
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / (2 * n * kLanes)), [&](int64_t first, int64_t end) {
        const int64_t rows = std::max(n, 2 * half);  // both results go where one was
        std::vector<T> memory(static_cast<size_t>(4 * rows * kLanes));
        T* a_re = memory.data();
        T *a_im = a_re + rows * kLanes, *b_re = a_im + rows * kLanes, *b_im = b_re + rows * kLanes;
        int32_t from[2][kLanes], to[2][kLanes];
        for (int64_t block = first; block < end; block++) {
            const int64_t start = block * 2 * kLanes, used = std::min(2 * kLanes, lines - start);
            auto place = [&](int64_t l, int64_t length) {
                const int64_t line = start + l;
                return (line / inner * length * inner) + line % inner;
            };
            const int64_t in_base = place(0, n), out_base = place(0, half) * 2;
            for (int64_t l = 0; l < 2 * kLanes; l++) {
                const int64_t lane = std::min(l, used - 1);
                from[l / kLanes][l % kLanes] = static_cast<int32_t>(place(lane, n) - in_base);
                to[l / kLanes][l % kLanes] = static_cast<int32_t>(place(lane, half) * 2 - out_base);
            }
            loops.load(n, inner, from[0], x + in_base, a_re, nullptr, T(1));
            loops.load(n, inner, from[1], x + in_base, a_im, nullptr, T(1));
            const bool in_b = loops.lines(n, plan.factors.data(), static_cast<int>(plan.factors.size()), plan.re.data(),
                                          plan.im.data(), kLanes, a_re, a_im, b_re, b_im);
            const T *zr = in_b ? b_re : a_re, *zi = in_b ? b_im : a_im;
            T *re = in_b ? a_re : b_re, *im = in_b ? a_im : b_im;
            for (int64_t k = 0; k < half; k++) {
                const int64_t here = k * kLanes, back = (k == 0 ? 0 : n - k) * kLanes, second = (half + k) * kLanes;
                for (int64_t l = 0; l < kLanes; l++) {
                    const T pr = zr[here + l], pi = zi[here + l], qr = zr[back + l], qi = zi[back + l];
                    re[here + l] = T(0.5) * (pr + qr);
                    im[here + l] = T(0.5) * (pi - qi);
                    re[second + l] = T(0.5) * (pi + qi);
                    im[second + l] = T(0.5) * (qr - pr);
                }
            }
            const int64_t few = std::min(used, kLanes), step = inner * 2, more = half * kLanes;
            loops.store(half, step, to[0], static_cast<int>(few), re, im, scale, y + out_base);
            loops.store(half, step, to[1], static_cast<int>(used - few), re + more, im + more, scale, y + out_base);
        }
    });
}

void lines_kernel(Call& c) {
    const Tensor out = c.out[0], input = contiguous(c.tensor(0));
    const int64_t dim = c.i64(1), n = c.i64(2), kind = c.i64(3);
    if (out.numel() == 0) return;
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < input.dim(); d++) inner *= input.size(d);
    const int64_t lines = input.numel() / input.size(dim);
    const Tensor result = contiguous(out);
    const bool single = input.dtype() == DType::F32 || input.dtype() == DType::C64, forward = c.flag(4);
    const double scale = c.f64(5);
    {
        AllowThreads threads(input.numel() > kGrain);
        if (kind == kHalfOfReal && single)
            transform_real(input.data<float>(), result.data<float>(), lines, inner, n, static_cast<float>(scale));
        else if (kind == kHalfOfReal)
            transform_real(input.data<double>(), result.data<double>(), lines, inner, n, scale);
        else if (single)
            transform(input.data<float>(), result.data<float>(), lines, inner, n, kind, forward,
                      static_cast<float>(scale));
        else
            transform(input.data<double>(), result.data<double>(), lines, inner, n, kind, forward, scale);
    }
    copy_into(out, result);
}

const OpRegistration r_lines{"_fft_lines", {.shape = lines_shape, .kernel = lines_kernel}};

}  // namespace

}  // namespace mashal
