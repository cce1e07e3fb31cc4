// Recurrent layers, backward: step by step from the last, the gradients of the gates and from them that of the state
// before; then one product over all steps for each weight and for the input.
#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/gemm.h"
#include "cpu/norm_common.h"
#include "cpu/rnn.h"

namespace mashal {

namespace {

template <class T>
struct Direction {
    const RnnGeometry& g;
    int64_t index;
    const T *w_ih, *hx, *cx;
    const T *history, *gates, *cells, *mixed;  // as forward kept them
    const T* outer;                            // gradient of the layer's result, from this direction's column on
    const T* zeros;                            // as long as a row
    T *grad_state, *grad_cell;                 // (batch, state) and (batch, hidden): in, of the last; out, of the first
    T* grad_gates;                             // (rows, columns)
    T* grad_projected;                         // (rows, state) with a projection: of h
    RowProduct<T> recurrent;                   // from gradients of gates to that of the state before
    RowProduct<T> projection;                  // from gradients of h to those before the projection

    int64_t history_ld() const { return g.directions * g.state; }
    // Columns of grad_gates that are multiplied with w_hh: a GRU's first block belongs to w_ih alone.
    int64_t recurrent_column() const { return g.mode == RnnMode::Gru ? g.hidden : 0; }

    // Rows [lo, hi) of step t, units of a block of `width` columns; `before` is c (LSTM) or h (GRU) of the step before.
    void cells_backward(int64_t t, int64_t u, int64_t units, int64_t lo, int64_t hi, T* grad, int64_t grad_ld,
                        const T* before, int64_t before_ld) const {
        if (lo >= hi) return;
        const int64_t at = g.offsets[static_cast<size_t>(t)] + lo;
        CellBackward<T> s{};
        s.rows = hi - lo;
        s.units = units;
        s.hidden = g.hidden;
        s.grad = grad;
        s.grad_ld = grad_ld;
        const bool no_outer = g.projection || g.cell;  // already in `grad`, or there is none
        s.outer = no_outer ? zeros : outer + at * history_ld() + u;
        s.outer_ld = no_outer ? 0 : history_ld();
        s.gates = gates + at * g.columns + u;
        s.gates_ld = g.columns;
        s.before = before == nullptr ? nullptr : before + lo * before_ld + u;
        s.before_ld = before_ld;
        s.cell = g.is_lstm() ? cells + at * g.hidden + u : history + at * history_ld() + u;
        s.cell_ld = g.is_lstm() ? g.hidden : history_ld();
        s.grad_cell = g.is_lstm() ? grad_cell + lo * g.hidden + u : nullptr;
        s.grad_cell_ld = g.hidden;
        s.grad_gates = grad_gates + at * g.columns + u;
        s.grad_gates_ld = g.columns;
        rnn_loops<T>().backward[static_cast<size_t>(g.mode)](s);
    }

    // The step before of rows [lo, old) is in what was kept, that of [old, hi) was given.
    void cells_of_step(int64_t k, int64_t u, int64_t units, int64_t lo, int64_t old, int64_t hi, T* grad,
                       int64_t grad_ld) const {
        const int64_t t = g.step(index, k);
        const int64_t before = k == 0 ? 0 : g.offsets[static_cast<size_t>(g.step(index, k - 1))];
        const T *kept = nullptr, *given = nullptr;
        int64_t kept_ld = 0, given_ld = 0;
        if (g.is_lstm()) {
            kept = cells + before * g.hidden;
            given = cx;
            kept_ld = given_ld = g.hidden;
        } else if (g.mode == RnnMode::Gru) {
            kept = history + before * history_ld();
            kept_ld = history_ld();
            given = hx;
            given_ld = g.state;
        }
        const int64_t middle = std::clamp(old, lo, hi);
        cells_backward(t, u, units, lo, middle, grad, grad_ld, kept, kept_ld);
        cells_backward(t, u, units, middle, hi, grad + (middle - lo) * grad_ld, grad_ld, given, given_ld);
    }

    void through_projection(int64_t k, int64_t lo, int64_t old, int64_t hi, T* scratch) const {
        const int64_t at = g.offsets[static_cast<size_t>(g.step(index, k))];
        for (int64_t r = lo; r < hi; r++)
            for (int64_t j = 0; j < g.state; j++)
                grad_projected[(at + r) * g.state + j] =
                    grad_state[r * g.state + j] + (g.cell ? T(0) : outer[(at + r) * history_ld() + j]);
        for (int64_t block = 0; block < projection.blocks; block++)
            for (int64_t r = lo; r < hi; r += projection.row_chunk) {
                const int64_t end = std::min(hi, r + projection.row_chunk);
                projection.run(block, end - r, grad_projected + (at + r) * g.state, g.state, scratch);
                cells_of_step(k, block * projection.width, projection.units_of(block), r, old, end, scratch,
                              projection.ld);
            }
    }

    void run(const RnnPart& part) const {
        const int64_t most = std::max<int64_t>(1, part.row1 - part.row0);
        const Scratch<T> scratch(std::max(recurrent.scratch_size(most), projection.scratch_size(most)));
        const bool adds = g.mode == RnnMode::Gru;  // grad_state holds the part that went straight through
        for (int64_t k = g.steps - 1; k >= 0; k--) {
            const int64_t t = g.step(index, k), lo = part.row0;
            const int64_t hi = std::max(lo, std::min(part.row1, g.sizes[static_cast<size_t>(t)]));
            const int64_t old = g.continued(index, k);
            if (g.projection)
                through_projection(k, lo, old, hi, scratch.data());
            else
                for (int64_t block = part.block0; block < part.block1; block++) {
                    const int64_t u = block * recurrent.width;
                    cells_of_step(k, u, recurrent.units_of(block), lo, old, hi, grad_state + lo * g.state + u, g.state);
                }
            if (part.barrier != nullptr) part.barrier->wait();
            const T* from = grad_gates + g.offsets[static_cast<size_t>(t)] * g.columns + recurrent_column();
            for (int64_t block = part.block0; block < part.block1; block++) {
                const int64_t units = recurrent.units_of(block);
                for (int64_t r = lo; r < hi; r += recurrent.row_chunk) {
                    const int64_t n = std::min(recurrent.row_chunk, hi - r);
                    recurrent.run(block, n, from + r * g.columns, g.columns, scratch.data());
                    for (int64_t i = 0; i < n; i++) {
                        const T* row = scratch.data() + i * recurrent.ld;
                        T* to = grad_state + (r + i) * g.state + block * recurrent.width;
                        if (adds)
                            for (int64_t j = 0; j < units; j++) to[j] += row[j];
                        else
                            std::copy_n(row, units, to);
                    }
                }
            }
        }
    }

    // The state before every row, in the order of rows.
    void states_before(T* to) const {
        for (int64_t k = 0; k < g.steps; k++) {
            const int64_t t = g.step(index, k), old = g.continued(index, k);
            const int64_t before = k == 0 ? 0 : g.offsets[static_cast<size_t>(g.step(index, k - 1))];
            T* at = to + g.offsets[static_cast<size_t>(t)] * g.state;
            for (int64_t r = 0; r < g.sizes[static_cast<size_t>(t)]; r++)
                std::copy_n(r < old ? history + (before + r) * history_ld() : hx + r * g.state, g.state,
                            at + r * g.state);
        }
    }
};

// Sums of the columns of (rows, n); 64 rows at a time, so that a sum over many rows keeps its digits.
template <class T>
void column_sums(int64_t rows, int64_t n, const T* x, int64_t ld, T* out) {
    parallel_for(0, n, std::max<int64_t>(16, kGrain / rows), [&](int64_t j0, int64_t j1) {
        std::vector<T> part(static_cast<size_t>(j1 - j0));
        std::fill(out + j0, out + j1, T(0));
        for (int64_t r0 = 0; r0 < rows; r0 += 64) {
            std::fill(part.begin(), part.end(), T(0));
            for (int64_t r = r0; r < std::min(rows, r0 + 64); r++)
                for (int64_t j = j0; j < j1; j++) part[static_cast<size_t>(j - j0)] += x[r * ld + j];
            for (int64_t j = j0; j < j1; j++) out[j] += part[static_cast<size_t>(j - j0)];
        }
    });
}

// Where the gradients of one direction go; null where none is wanted.
template <class T>
struct Gradients {
    T *input, *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
};

// Products over all steps.
template <class T>
void weight_gradients(const Direction<T>& to, const T* x, T* states, const Gradients<T>& grads) {
    const RnnGeometry& g = to.g;
    const DType dtype = dtype_of<T>::value;
    const int64_t H = g.hidden, width = g.gates * H;
    const bool gru = g.mode == RnnMode::Gru;
    const Scalar one = Scalar::of(1.0), zero = Scalar::of(0.0);
    const T* gates = to.grad_gates;
    // Rows of w_ih by columns of grad_gates: a GRU has those of n first.
    struct Slice {
        int64_t column, row, n;
    };
    const Slice slices[2] = {gru ? Slice{H, 0, 2 * H} : Slice{0, 0, width}, Slice{0, 2 * H, gru ? H : 0}};
    for (const Slice& s : slices) {
        if (s.n == 0) continue;
        if (grads.input != nullptr)
            gemm(dtype, g.rows, g.input, s.n, one, {gates + s.column, g.columns, false},
                 {to.w_ih + s.row * g.input, g.input, false}, to.index > 0 || s.row > 0 ? one : zero, grads.input,
                 g.input);
        if (grads.w_ih != nullptr)
            gemm(dtype, s.n, g.input, g.rows, one, {gates + s.column, g.columns, true}, {x, g.input, false}, zero,
                 grads.w_ih + s.row * g.input, g.input);
        if (grads.b_ih != nullptr) column_sums(g.rows, s.n, gates + s.column, g.columns, grads.b_ih + s.row);
    }
    const T* recurrent = gates + to.recurrent_column();
    if (grads.w_hh != nullptr) {
        to.states_before(states);
        gemm(dtype, width, g.state, g.rows, one, {recurrent, g.columns, true}, {states, g.state, false}, zero,
             grads.w_hh, g.state);
    }
    if (grads.b_hh != nullptr) {
        if (gru)
            column_sums(g.rows, width, recurrent, g.columns, grads.b_hh);
        else
            std::copy_n(grads.b_ih, width, grads.b_hh);
    }
    if (grads.w_hr != nullptr)
        gemm(dtype, g.state, H, g.rows, one, {to.grad_projected, g.state, true}, {to.mixed, H, false}, zero, grads.w_hr,
             H);
}

template <class T>
void rnn_backward(Call& c) {
    constexpr DType dtype = dtype_of<T>::value;
    const RnnGeometry g(c, 3, 8);
    const bool lstm = g.is_lstm();
    const size_t first_param = lstm ? 3 : 2;
    if (g.rows == 0) {
        copy_into(c.out[1], c.tensor(1));
        if (lstm) copy_into(c.out[2], c.tensor(2));
        for (size_t i = first_param; i < c.out.size(); i++) fill(c.out[i], Scalar::of(0.0));
        return;
    }
    const Operand<T> outer(c.tensor(0)), x(c.tensor(3)), hx(c.tensor(4)), cx(lstm ? c.tensor(5) : Tensor());
    std::vector<Operand<T>> params;
    for (const Tensor& p : c.tensors(6)) params.emplace_back(p);
    const Tensor kept = c.tensor(7);
    const T* base = reinterpret_cast<const T*>(kept.data<uint8_t>());
    std::vector<Target<T>> targets;
    for (const Tensor& t : c.out) targets.emplace_back(t);
    copy_into(targets[1].tensor, c.tensor(1));
    if (lstm) copy_into(targets[2].tensor, c.tensor(2));

    const bool pack = g.steps >= kStepsToPack;
    const int64_t sizes[1] = {g.directions * (g.rows * g.columns + (g.projection ? g.rows * g.state : 0))};
    const int64_t state_sizes[1] = {g.rows * g.state};
    const Tensor buffer = empty(sizes, dtype), states = empty(state_sizes, dtype);
    const std::vector<T> zeros(static_cast<size_t>(g.hidden), T(0));
    std::vector<Direction<T>> directions;
    std::vector<Gradients<T>> grads;
    for (int64_t d = 0; d < g.directions; d++) {
        const auto at = static_cast<size_t>(d * g.n_params);
        T* grad_gates = buffer.data<T>() + d * g.rows * g.columns;
        const T *w_hh = params[at + 1].data(),
                *w_hr = g.projection ? params[at + static_cast<size_t>(g.n_params) - 1].data() : nullptr;
        directions.push_back(
            {g, d, params[at].data(), hx.data() + d * g.batch * g.state,
             lstm ? cx.data() + d * g.batch * g.hidden : nullptr, base + d * g.state, base + g.gates_at(d),
             base + g.cells_at(d), base + g.mixed_at(d), outer.data() + d * g.state, zeros.data(),
             targets[1].data() + d * g.batch * g.state, lstm ? targets[2].data() + d * g.batch * g.hidden : nullptr,
             grad_gates,
             buffer.data<T>() + g.directions * g.rows * g.columns + (g.projection ? d * g.rows * g.state : 0),
             RowProduct<T>(w_hh, g.gates * g.hidden, g.state, 1, true, pack),
             g.projection ? RowProduct<T>(w_hr, g.state, g.hidden, 1, true, pack) : RowProduct<T>()});
        auto wanted = [&](int64_t k) { return targets[first_param + at + static_cast<size_t>(k)].data(); };
        grads.push_back({targets[0].data(), wanted(0), wanted(1), g.biases ? wanted(2) : nullptr,
                         g.biases ? wanted(3) : nullptr, g.projection ? wanted(g.n_params - 1) : nullptr});
    }
    {
        AllowThreads unlocked(g.rows * g.gates * g.hidden > kGrain);
        const int64_t bytes = g.gates * g.hidden * g.state * static_cast<int64_t>(sizeof(T));
        run_rnn_parts(g, directions[0].recurrent.blocks, bytes,
                      [&](int64_t d, const RnnPart& part) { directions[static_cast<size_t>(d)].run(part); });
        for (size_t d = 0; d < directions.size(); d++)
            weight_gradients(directions[d], x.data(), states.data<T>(), grads[d]);
    }
    for (const Target<T>& t : targets) t.finish();
}

// _rnn_layer_backward(grad, grad_hy, grad_cy, input, hx, cx, params, kept, batch_sizes, mode, has_biases, need_input,
//   need_params) -> [input, hx, cx (LSTM only), *params]; what is not needed has no elements.
void rnn_layer_backward_shape(Call& c) {
    const RnnGeometry g(c, 3, 8);
    const Tensor x = c.tensor(3);
    const IntVec none{0};
    auto check = [&](const char* name, const Tensor& t, const IntVec& shape) {
        MASHAL_CHECK(t.defined(), c.name(), name, " must have shape ", shape_text(shape), ", got None.");
        MASHAL_CHECK(equal(t.sizes(), shape), c.name(), name, " must have shape ", shape_text(shape), ", got ", name,
                     " ", text(t), ".");
    };
    const int64_t width = g.directions * g.state;
    check("grad", c.tensor(0), g.cell ? none : g.packed ? IntVec{g.rows, width} : IntVec{g.steps, g.batch, width});
    check("grad_hy", c.tensor(1), c.tensor(4).sizes());
    if (g.is_lstm()) check("grad_cy", c.tensor(2), c.tensor(5).sizes());
    const int64_t bytes = g.kept_size() * item_size(compute_dtype(x.dtype()));
    check("kept", c.tensor(7), IntVec{bytes});
    MASHAL_CHECK(c.tensor(7).dtype() == DType::U8 && c.tensor(7).is_contiguous(), c.name(),
                 "kept must be what the forward pass kept, got kept ", text(c.tensor(7)), ".");
    c.result(c.flag(11) ? x.sizes() : none, x.dtype(), x.device());
    c.result(c.tensor(4).sizes(), x.dtype(), x.device());
    if (g.is_lstm()) c.result(c.tensor(5).sizes(), x.dtype(), x.device());
    for (const Tensor& p : c.tensors(6)) c.result(c.flag(12) ? p.sizes() : none, x.dtype(), x.device());
}

void rnn_layer_backward_kernel(Call& c) {
    visit_floating(c.name(), compute_dtype(c.tensor(3).dtype()), [&](auto tag) { rnn_backward<decltype(tag)>(c); });
}

const OpRegistration r1{"_rnn_layer_backward",
                        {.shape = rnn_layer_backward_shape, .kernel = rnn_layer_backward_kernel}};

}  // namespace

}  // namespace mashal
