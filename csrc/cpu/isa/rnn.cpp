#include "cpu/rnn_loops.h"

#include "cpu/isa/lanes.h"
#include "scalar/activation.h"
#include "scalar/hyperbolic.h"

namespace mashal::MASHAL_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kRows4 = 6, kRows3 = 8;
#else
constexpr int kRows4 = 2, kRows3 = 3;
#endif

// R rows by C vectors of sums, all in registers: without the pragmas GCC keeps the vectors of the panel in an array on
// the stack.
template <class T, int R, int C>
[[gnu::always_inline]] inline void product_block(int64_t k, const T* a, int64_t lda, const T* panel, T* out,
                                                 int64_t ldo) {
    constexpr int lanes = Vector<T>::lanes;
    V<T> sum[R][C] = {};
    for (int64_t p = 0; p < k; p++, panel += C * lanes) {
        V<T> b[C];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) b[c] = load(panel + c * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const V<T> x = a[r * lda + p] - V<T>{};  // not `+`: -0 + 0 is 0, which would have to be computed
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) sum[r][c] = multiply_add(x, b[c], sum[r][c]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) store(out + r * ldo + c * lanes, sum[r][c]);
}

// Blocks of nearly equal numbers of rows: a last one of a single row would leave the multipliers idle.
template <class T, int C, int Most>
void product(int64_t rows, int64_t k, const T* a, int64_t lda, const T* panel, T* out, int64_t ldo) {
    const int64_t blocks = (rows + Most - 1) / Most;
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t n = rows / blocks + (i < rows % blocks);
        switch (n) {
            case 1: product_block<T, 1, C>(k, a, lda, panel, out, ldo); break;
            case 2: product_block<T, 2, C>(k, a, lda, panel, out, ldo); break;
            case 3: product_block < T, Most<3 ? Most : 3, C>(k, a, lda, panel, out, ldo); break;
            case 4: product_block < T, Most<4 ? Most : 4, C>(k, a, lda, panel, out, ldo); break;
            case 5: product_block < T, Most<5 ? Most : 5, C>(k, a, lda, panel, out, ldo); break;
            case 6: product_block < T, Most<6 ? Most : 6, C>(k, a, lda, panel, out, ldo); break;
            case 7: product_block < T, Most<7 ? Most : 7, C>(k, a, lda, panel, out, ldo); break;
            default: product_block<T, Most, C>(k, a, lda, panel, out, ldo);
        }
        a += n * lda;
        out += n * ldo;
    }
}

// The loops over units have no dependence between units, whatever the pointers: results may overwrite the arguments of
// the same unit only.
template <class T>
void lstm_forward(const CellForward<T>& s) {
    const int64_t H = s.hidden, q = s.product_gate;
    const T* bias = s.bias;
    for (int64_t r = 0; r < s.rows; r++) {
        const T *p = s.product + r * s.product_ld, *before = s.before + r * s.before_ld;
        T *x = s.gates + r * s.gates_ld, *cell = s.cell + r * s.cell_ld, *state = s.state + r * s.state_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T i = scalar::sigmoid(x[j] + p[j] + bias[j]);
            const T f = scalar::sigmoid(x[H + j] + p[q + j] + bias[H + j]);
            const T g = scalar::tanh(x[2 * H + j] + p[2 * q + j] + bias[2 * H + j]);
            const T o = scalar::sigmoid(x[3 * H + j] + p[3 * q + j] + bias[3 * H + j]);
            const T c = f * before[j] + i * g;
            x[j] = i;
            x[H + j] = f;
            x[2 * H + j] = g;
            x[3 * H + j] = o;
            cell[j] = c;
            state[j] = o * scalar::tanh(c);
        }
    }
}

template <class T>
void lstm_backward(const CellBackward<T>& s) {
    const int64_t H = s.hidden;
    for (int64_t r = 0; r < s.rows; r++) {
        const T *grad = s.grad + r * s.grad_ld, *outer = s.outer + r * s.outer_ld;
        const T *gates = s.gates + r * s.gates_ld, *before = s.before + r * s.before_ld;
        const T* cell = s.cell + r * s.cell_ld;
        T *grad_cell = s.grad_cell + r * s.grad_cell_ld, *out = s.grad_gates + r * s.grad_gates_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T i = gates[j], f = gates[H + j], g = gates[2 * H + j], o = gates[3 * H + j];
            const T y = scalar::tanh(cell[j]), dh = grad[j] + outer[j];
            const T dc = grad_cell[j] + dh * o * (T(1) - y * y);
            out[j] = dc * g * i * (T(1) - i);
            out[H + j] = dc * before[j] * f * (T(1) - f);
            out[2 * H + j] = dc * i * (T(1) - g * g);
            out[3 * H + j] = dh * y * o * (T(1) - o);
            grad_cell[j] = dc * f;
        }
    }
}

template <class T>
void gru_forward(const CellForward<T>& s) {
    const int64_t H = s.hidden, q = s.product_gate;
    const T* bias = s.bias;
    for (int64_t row = 0; row < s.rows; row++) {
        const T *p = s.product + row * s.product_ld, *before = s.before + row * s.before_ld;
        T *x = s.gates + row * s.gates_ld, *state = s.state + row * s.state_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T r = scalar::sigmoid(x[j] + p[j] + bias[j]);
            const T z = scalar::sigmoid(x[H + j] + p[q + j] + bias[H + j]);
            const T hn = p[2 * q + j] + bias[3 * H + j];
            const T n = scalar::tanh(x[2 * H + j] + bias[2 * H + j] + r * hn);
            x[j] = r;
            x[H + j] = z;
            x[2 * H + j] = n;
            x[3 * H + j] = hn;
            state[j] = (before[j] - n) * z + n;
        }
    }
}

template <class T>
void gru_backward(const CellBackward<T>& s) {
    const int64_t H = s.hidden;
    for (int64_t row = 0; row < s.rows; row++) {
        const T *outer = s.outer + row * s.outer_ld, *gates = s.gates + row * s.gates_ld;
        const T* before = s.before + row * s.before_ld;
        T *grad = s.grad + row * s.grad_ld, *out = s.grad_gates + row * s.grad_gates_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T r = gates[j], z = gates[H + j], n = gates[2 * H + j], hn = gates[3 * H + j];
            const T dh = grad[j] + outer[j];
            const T dn = dh * (T(1) - z) * (T(1) - n * n);
            out[j] = dn;
            out[H + j] = dn * hn * r * (T(1) - r);
            out[2 * H + j] = dh * (before[j] - n) * z * (T(1) - z);
            out[3 * H + j] = dn * r;
            grad[j] = dh * z;
        }
    }
}

template <class T, bool Relu>
void rnn_forward(const CellForward<T>& s) {
    for (int64_t r = 0; r < s.rows; r++) {
        const T *p = s.product + r * s.product_ld, *x = s.gates + r * s.gates_ld, *bias = s.bias;
        T* state = s.state + r * s.state_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T y = x[j] + p[j] + bias[j];
            if constexpr (Relu)
                state[j] = y < T(0) ? T(0) : y;  // NaN stays
            else
                state[j] = scalar::tanh(y);
        }
    }
}

template <class T, bool Relu>
void rnn_backward(const CellBackward<T>& s) {
    for (int64_t r = 0; r < s.rows; r++) {
        const T *grad = s.grad + r * s.grad_ld, *outer = s.outer + r * s.outer_ld, *h = s.cell + r * s.cell_ld;
        T* out = s.grad_gates + r * s.grad_gates_ld;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.units; j++) {
            const T dh = grad[j] + outer[j];
            if constexpr (Relu)
                out[j] = h[j] <= T(0) ? T(0) : dh;
            else
                out[j] = dh * (T(1) - h[j] * h[j]);
        }
    }
}

template <class T>
RnnLoops<T> loops() {
    return {Vector<T>::lanes,
            product<T, 3, kRows3>,
            product<T, 4, kRows4>,
            {rnn_forward<T, false>, rnn_forward<T, true>, lstm_forward<T>, gru_forward<T>},
            {rnn_backward<T, false>, rnn_backward<T, true>, lstm_backward<T>, gru_backward<T>}};
}

}  // namespace

RnnLoops<float> rnn_loops_float() { return loops<float>(); }
RnnLoops<double> rnn_loops_double() { return loops<double>(); }

}  // namespace mashal::MASHAL_ISA
