#include <utility>

#include "cpu/fft_loops.h"

namespace mashal::MASHAL_ISA {

namespace {

constexpr int kLargest = 13;

template <class T>
struct Root {
    T re, im;
};

// Inputs and outputs never overlap (`ivdep`).
// One factor r of the transform, for one p: outputs y[k] = w[k] * sum over j of x[j] * exp(-2 pi i j k / r), for
// `run` neighbours at once. Input j is `in` elements apart, output k is `run` apart.
template <class T>
void radix2(int64_t run, int64_t in, const Root<T>* w, const T* __restrict xr, const T* __restrict xi, T* __restrict yr,
            T* __restrict yi) {
#pragma GCC ivdep
    for (int64_t t = 0; t < run; t++) {
        const T ar = xr[t], ai = xi[t], br = xr[t + in], bi = xi[t + in];
        yr[t] = ar + br;
        yi[t] = ai + bi;
        const T dr = ar - br, di = ai - bi;
        yr[t + run] = dr * w[1].re - di * w[1].im;
        yi[t + run] = dr * w[1].im + di * w[1].re;
    }
}

template <class T>
void radix3(int64_t run, int64_t in, const Root<T>* w, const T* __restrict xr, const T* __restrict xi, T* __restrict yr,
            T* __restrict yi) {
    constexpr T kSin = T(0.86602540378443864676);
#pragma GCC ivdep
    for (int64_t t = 0; t < run; t++) {
        const T ar = xr[t], ai = xi[t];
        const T sr = xr[t + in] + xr[t + 2 * in], si = xi[t + in] + xi[t + 2 * in];
        const T dr = (xr[t + in] - xr[t + 2 * in]) * kSin, di = (xi[t + in] - xi[t + 2 * in]) * kSin;
        yr[t] = ar + sr;
        yi[t] = ai + si;
        const T mr = ar - T(0.5) * sr, mi = ai - T(0.5) * si;
        const T br = mr + di, bi = mi - dr, cr = mr - di, ci = mi + dr;
        yr[t + run] = br * w[1].re - bi * w[1].im;
        yi[t + run] = br * w[1].im + bi * w[1].re;
        yr[t + 2 * run] = cr * w[2].re - ci * w[2].im;
        yi[t + 2 * run] = cr * w[2].im + ci * w[2].re;
    }
}

template <class T>
void radix4(int64_t run, int64_t in, const Root<T>* w, const T* __restrict xr, const T* __restrict xi, T* __restrict yr,
            T* __restrict yi) {
#pragma GCC ivdep
    for (int64_t t = 0; t < run; t++) {
        const T ar = xr[t] + xr[t + 2 * in], ai = xi[t] + xi[t + 2 * in];
        const T br = xr[t] - xr[t + 2 * in], bi = xi[t] - xi[t + 2 * in];
        const T cr = xr[t + in] + xr[t + 3 * in], ci = xi[t + in] + xi[t + 3 * in];
        const T dr = xr[t + in] - xr[t + 3 * in], di = xi[t + in] - xi[t + 3 * in];
        yr[t] = ar + cr;
        yi[t] = ai + ci;
        const T er = br + di, ei = bi - dr, fr = ar - cr, fi = ai - ci, gr = br - di, gi = bi + dr;
        yr[t + run] = er * w[1].re - ei * w[1].im;
        yi[t + run] = er * w[1].im + ei * w[1].re;
        yr[t + 2 * run] = fr * w[2].re - fi * w[2].im;
        yi[t + 2 * run] = fr * w[2].im + fi * w[2].re;
        yr[t + 3 * run] = gr * w[3].re - gi * w[3].im;
        yi[t + 3 * run] = gr * w[3].im + gi * w[3].re;
    }
}

// Any small factor, by the definition. roots[k] = exp(-2 pi i k / R).
template <int R, class T>
void radix_fixed(const Root<T>* roots, int64_t run, int64_t in, const Root<T>* w, const T* __restrict xr,
                 const T* __restrict xi, T* __restrict yr, T* __restrict yi) {
    for (int k = 0; k < R; k++) {
        T* __restrict out_re = yr + k * run;
        T* __restrict out_im = yi + k * run;
        // The twiddle factor is folded into the roots.
        Root<T> c[R];
        for (int j = 0; j < R; j++) {
            const Root<T> u = roots[j * k % R];
            c[j] = {u.re * w[k].re - u.im * w[k].im, u.re * w[k].im + u.im * w[k].re};
        }
#pragma GCC ivdep
        for (int64_t t = 0; t < run; t++) {
            T sr = 0, si = 0;
#pragma GCC unroll 16
            for (int j = 0; j < R; j++) {
                const T vr = xr[t + j * in], vi = xi[t + j * in];
                sr += vr * c[j].re - vi * c[j].im;
                si += vr * c[j].im + vi * c[j].re;
            }
            out_re[t] = sr;
            out_im[t] = si;
        }
    }
}

// Stockham's form: every pass writes its results in order, so that nothing is reversed at the end.
template <class T>
bool lines(int64_t n, const int* factors, int count, const T* tre, const T* tim, int64_t lanes, T* ar, T* ai, T* br,
           T* bi) {
    bool in_b = false;
    int64_t left = n, s = 1;
    for (int f = 0; f < count; f++) {
        const int r = factors[f];
        const int64_t m = left / r, run = s * lanes, in = run * m;
        Root<T> roots[kLargest], w[kLargest];
        for (int k = 0; k < r; k++) roots[k] = {tre[k * (n / r)], tim[k * (n / r)]};
        for (int64_t p = 0; p < m; p++) {
            for (int k = 0; k < r; k++) w[k] = {tre[p * k * s], tim[p * k * s]};
            const T *xr = ar + p * run, *xi = ai + p * run;
            T *yr = br + p * r * run, *yi = bi + p * r * run;
            switch (r) {
                case 2: radix2(run, in, w, xr, xi, yr, yi); break;
                case 3: radix3(run, in, w, xr, xi, yr, yi); break;
                case 4: radix4(run, in, w, xr, xi, yr, yi); break;
                case 5: radix_fixed<5>(roots, run, in, w, xr, xi, yr, yi); break;
                case 7: radix_fixed<7>(roots, run, in, w, xr, xi, yr, yi); break;
                case 11: radix_fixed<11>(roots, run, in, w, xr, xi, yr, yi); break;
                default: radix_fixed<13>(roots, run, in, w, xr, xi, yr, yi);
            }
        }
        std::swap(ar, br);
        std::swap(ai, bi);
        in_b = !in_b;
        left = m;
        s *= r;
    }
    return in_b;
}

// Elements of a line that lie next to each other are taken a few at a time: lines that are a power of two apart share
// the sets of a cache, and would push each other out if each gave one element in turn.
constexpr int64_t kTile = 64;

template <class T, int kLanes>
void load_rows(int64_t n, int64_t step, const int32_t* from, const T* x, T* __restrict re, T* __restrict im, T sign) {
    if (step > 2 || step < -2) {
        for (int64_t j = 0; j < n; j++) {
            const T* at = x + j * step;
            for (int l = 0; l < kLanes; l++) re[j * kLanes + l] = at[from[l]];
            if (im)
                for (int l = 0; l < kLanes; l++) im[j * kLanes + l] = sign * at[from[l] + 1];
        }
        return;
    }
    for (int64_t first = 0; first < n; first += kTile) {
        const int64_t end = first + kTile < n ? first + kTile : n;
        for (int l = 0; l < kLanes; l++) {
            const T* at = x + from[l];
            if (im)
                for (int64_t j = first; j < end; j++) {
                    re[j * kLanes + l] = at[j * step];
                    im[j * kLanes + l] = sign * at[j * step + 1];
                }
            else
                for (int64_t j = first; j < end; j++) re[j * kLanes + l] = at[j * step];
        }
    }
}

template <class T, int kLanes>
void store_rows(int64_t n, int64_t step, const int32_t* to, int used, const T* __restrict re, const T* __restrict im,
                T scale, T* __restrict y) {
    if (step > 2) {
        for (int64_t j = 0; j < n; j++) {
            T* at = y + j * step;
            for (int l = 0; l < used; l++) at[to[l]] = re[j * kLanes + l] * scale;
            if (im)
                for (int l = 0; l < used; l++) at[to[l] + 1] = im[j * kLanes + l] * scale;
        }
        return;
    }
    for (int64_t first = 0; first < n; first += kTile) {
        const int64_t end = first + kTile < n ? first + kTile : n;
        for (int l = 0; l < used; l++) {
            T* at = y + to[l];
            if (im)
                for (int64_t j = first; j < end; j++) {
                    at[j * step] = re[j * kLanes + l] * scale;
                    at[j * step + 1] = im[j * kLanes + l] * scale;
                }
            else
                for (int64_t j = first; j < end; j++) at[j * step] = re[j * kLanes + l] * scale;
        }
    }
}

}  // namespace

bool fft_lines_f32(int64_t n, const int* factors, int count, const float* tre, const float* tim, int64_t lanes,
                   float* ar, float* ai, float* br, float* bi) {
    return lines(n, factors, count, tre, tim, lanes, ar, ai, br, bi);
}

bool fft_lines_f64(int64_t n, const int* factors, int count, const double* tre, const double* tim, int64_t lanes,
                   double* ar, double* ai, double* br, double* bi) {
    return lines(n, factors, count, tre, tim, lanes, ar, ai, br, bi);
}

void fft_load_f32(int64_t n, int64_t step, const int32_t* from, const float* x, float* re, float* im, float sign) {
    load_rows<float, kFftLanes<float>>(n, step, from, x, re, im, sign);
}

void fft_load_f64(int64_t n, int64_t step, const int32_t* from, const double* x, double* re, double* im, double sign) {
    load_rows<double, kFftLanes<double>>(n, step, from, x, re, im, sign);
}

void fft_store_f32(int64_t n, int64_t step, const int32_t* to, int used, const float* re, const float* im, float scale,
                   float* y) {
    store_rows<float, kFftLanes<float>>(n, step, to, used, re, im, scale, y);
}

void fft_store_f64(int64_t n, int64_t step, const int32_t* to, int used, const double* re, const double* im,
                   double scale, double* y) {
    store_rows<double, kFftLanes<double>>(n, step, to, used, re, im, scale, y);
}

}  // namespace mashal::MASHAL_ISA
