// Recurrent layers, forward: one product for the inputs of all steps, then step by step the product with the state and
// the gates. What backward needs is kept in one buffer of bytes, laid out by RnnGeometry.
#include "core/blocking.h"
#include "cpu/gemm.h"
#include "cpu/norm_common.h"
#include "cpu/rnn.h"

namespace mashal {

namespace {

template <class T>
struct Direction {
    const RnnGeometry& g;
    int64_t index;
    bool keep;  // for backward
    const T *w_ih, *hx, *cx;
    std::vector<T> bias;  // by column of the gates
    RowProduct<T> recurrent, projection;
    T* gates = nullptr;    // (rows, columns)
    T* cells = nullptr;    // (rows, hidden); one (batch, hidden) for all steps unless kept
    T* mixed = nullptr;    // h before the projection, (rows, hidden)
    T* history = nullptr;  // h, (rows, directions * state), from this direction's column on

    int64_t history_ld() const { return g.directions * g.state; }
    T* cell_row(int64_t row, int64_t offset) const { return cells + ((keep ? offset : 0) + row) * g.hidden; }

    // Rows [lo, hi) of step t, whose state before is at `state` and whose c before at `c` (both by row of the step).
    void cell_block(int64_t t, int64_t block, int64_t lo, int64_t hi, const T* h, int64_t h_ld, const T* c,
                    T* scratch) const {
        const int64_t offset = g.offsets[static_cast<size_t>(t)], u = block * recurrent.width;
        const bool lstm = g.is_lstm();
        for (int64_t r = lo; r < hi; r += recurrent.row_chunk) {
            const int64_t n = std::min(recurrent.row_chunk, hi - r), at = offset + r;
            recurrent.run(block, n, h + r * h_ld, h_ld, scratch);
            CellForward<T> s{};
            s.rows = n;
            s.units = recurrent.units_of(block);
            s.hidden = g.hidden;
            s.product = scratch;
            s.product_ld = recurrent.ld;
            s.product_gate = recurrent.gate;
            s.gates = gates + at * g.columns + u;
            s.gates_ld = g.columns;
            s.bias = bias.data() + u;
            s.before = (lstm ? c + r * g.hidden : h + r * h_ld) + u;
            s.before_ld = lstm ? g.hidden : h_ld;
            s.cell = lstm ? cell_row(r, offset) + u : nullptr;
            s.cell_ld = g.hidden;
            s.state = (g.projection ? mixed + at * g.hidden : history + at * history_ld()) + u;
            s.state_ld = g.projection ? g.hidden : history_ld();
            rnn_loops<T>().forward[static_cast<size_t>(g.mode)](s);
        }
    }

    void project(int64_t t, int64_t lo, int64_t hi, T* scratch) const {
        for (int64_t block = 0; block < projection.blocks; block++) {
            const int64_t units = projection.units_of(block);
            for (int64_t r = lo; r < hi; r += projection.row_chunk) {
                const int64_t n = std::min(projection.row_chunk, hi - r), at = g.offsets[static_cast<size_t>(t)] + r;
                projection.run(block, n, mixed + at * g.hidden, g.hidden, scratch);
                for (int64_t i = 0; i < n; i++)
                    std::copy_n(scratch + i * projection.ld, units,
                                history + (at + i) * history_ld() + block * projection.width);
            }
        }
    }

    void run(const RnnPart& part) const {
        const int64_t most = std::max<int64_t>(1, part.row1 - part.row0);
        const Scratch<T> scratch(std::max(recurrent.scratch_size(most), projection.scratch_size(most)));
        for (int64_t k = 0; k < g.steps; k++) {
            const int64_t t = g.step(index, k), lo = part.row0;
            const int64_t hi = std::max(lo, std::min(part.row1, g.sizes[static_cast<size_t>(t)]));
            // Rows below `old` go on from the step before, the others begin here.
            const int64_t old = std::clamp(g.continued(index, k), lo, hi);
            const int64_t before = k == 0 ? 0 : g.offsets[static_cast<size_t>(g.step(index, k - 1))];
            for (int64_t block = part.block0; block < part.block1; block++) {
                cell_block(t, block, lo, old, history + before * history_ld(), history_ld(),
                           g.is_lstm() ? cell_row(0, before) : nullptr, scratch.data());
                cell_block(t, block, old, hi, hx, g.state, keep || cx == nullptr ? cx : cells, scratch.data());
            }
            if (g.projection) project(t, lo, hi, scratch.data());
            if (part.barrier != nullptr) part.barrier->wait();
        }
    }

    // The last state of every sequence.
    void finish(T* hy, T* cy) const {
        for (int64_t k = 0; k < g.steps; k++) {
            const int64_t t = g.step(index, k), offset = g.offsets[static_cast<size_t>(t)];
            const int64_t goes_on = k + 1 < g.steps ? g.continued(index, k + 1) : 0;
            for (int64_t row = goes_on; row < g.sizes[static_cast<size_t>(t)]; row++) {
                std::copy_n(history + (offset + row) * history_ld(), g.state, hy + row * g.state);
                if (cy != nullptr) std::copy_n(cell_row(row, offset), g.hidden, cy + row * g.hidden);
            }
        }
    }
};

template <class T>
std::vector<T> gate_bias(const RnnGeometry& g, const T* b_ih, const T* b_hh) {
    std::vector<T> bias(static_cast<size_t>(g.columns), T(0));
    if (!g.biases) return bias;
    const int64_t shared = g.mode == RnnMode::Gru ? 2 * g.hidden : g.columns;
    for (int64_t j = 0; j < shared; j++) bias[static_cast<size_t>(j)] = b_ih[j] + b_hh[j];
    for (int64_t j = shared; j < g.columns - (g.columns - shared) / 2; j++) {
        bias[static_cast<size_t>(j)] = b_ih[j];
        bias[static_cast<size_t>(j + g.hidden)] = b_hh[j];
    }
    return bias;
}

template <class T>
void rnn_forward(Call& c) {
    constexpr DType dtype = dtype_of<T>::value;
    const RnnGeometry g(c, 0, 4);
    const bool keep = c.flag(7);
    if (g.rows == 0) {
        copy_into(c.out[1], c.tensor(1));
        if (g.is_lstm()) copy_into(c.out[2], c.tensor(2));
        return;
    }
    const Operand<T> x(c.tensor(0)), hx(c.tensor(1)), cx(g.is_lstm() ? c.tensor(2) : Tensor());
    const Target<T> out(c.out[0]), hy(c.out[1]), cy(c.out[2]);
    std::vector<Operand<T>> params;
    for (const Tensor& p : c.tensors(3)) params.emplace_back(p);
    const bool pack = g.steps >= kStepsToPack;

    // Without backward, only the buffers of the gates (and of c, one step of it) are needed.
    const int64_t sizes[1] = {keep ? g.kept_size()
                                   : g.directions * (g.rows * g.columns + g.batch * g.hidden + g.mixed_size())};
    const Tensor temporary = keep ? Tensor() : empty(sizes, dtype);
    T* kept = keep ? static_cast<T*>(c.out[3].data()) : temporary.data<T>();
    T* history = keep ? kept : g.cell ? hy.data() : out.data();
    const bool kept_gates = keep && g.gates_size() > 0;
    const int64_t plain_sizes[1] = {keep && !kept_gates ? g.directions * g.rows * g.columns : 0};
    const Tensor plain_gates = empty(plain_sizes, dtype);

    std::vector<Direction<T>> directions;
    for (int64_t d = 0; d < g.directions; d++) {
        const auto at = static_cast<size_t>(d * g.n_params);
        const T* w_hr = g.projection ? params[at + static_cast<size_t>(g.n_params - 1)].data() : nullptr;
        Direction<T> to{
            g,
            d,
            keep,
            params[at].data(),
            hx.data() + d * g.batch * g.state,
            g.is_lstm() ? cx.data() + d * g.batch * g.hidden : nullptr,
            gate_bias(g, g.biases ? params[at + 2].data() : nullptr, g.biases ? params[at + 3].data() : nullptr),
            RowProduct<T>(params[at + 1].data(), g.state, g.hidden, g.gates, false, pack),
            g.projection ? RowProduct<T>(w_hr, g.hidden, g.state, 1, false, pack) : RowProduct<T>()};
        if (keep) {
            to.gates = kept_gates ? kept + g.gates_at(d) : plain_gates.data<T>() + d * g.rows * g.columns;
            to.cells = kept + g.cells_at(d);
            to.mixed = kept + g.mixed_at(d);
        } else {
            to.gates = kept + d * (g.rows * g.columns + g.batch * g.hidden + g.mixed_size());
            to.cells = to.gates + g.rows * g.columns;
            to.mixed = to.cells + g.batch * g.hidden;
            if (g.is_lstm()) std::copy_n(to.cx, g.batch * g.hidden, to.cells);
        }
        to.history = history + d * g.state;
        directions.push_back(std::move(to));
    }
    T *hy_data = hy.data(), *cy_data = cy.data(), *out_data = out.data();
    {
        AllowThreads unlocked(g.rows * g.gates * g.hidden > kGrain);
        for (const Direction<T>& to : directions)
            gemm(dtype, g.rows, g.gates * g.hidden, g.input, Scalar::of(1.0), {x.data(), g.input, false},
                 {to.w_ih, g.input, true}, Scalar::of(0.0), to.gates, g.columns);
        const int64_t bytes = g.gates * g.hidden * g.state * static_cast<int64_t>(sizeof(T));
        run_rnn_parts(g, directions[0].recurrent.blocks, bytes,
                      [&](int64_t d, const RnnPart& part) { directions[static_cast<size_t>(d)].run(part); });
        for (const Direction<T>& to : directions)
            to.finish(hy_data + to.index * g.batch * g.state,
                      g.is_lstm() ? cy_data + to.index * g.batch * g.hidden : nullptr);
        if (keep && !g.cell) std::copy_n(history, g.history_size(), out_data);
    }
    out.finish();
    hy.finish();
    cy.finish();
}

// _rnn_layer(input, hx, cx, params, batch_sizes, mode, has_biases, keep) -> (out, hy, cy, kept)
void rnn_layer_shape(Call& c) {
    const RnnGeometry g(c, 0, 4);
    const Tensor x = c.tensor(0);
    const int64_t width = g.directions * g.state;
    if (g.cell)
        c.result(IntVec{0}, x.dtype(), x.device());
    else if (g.packed)
        c.result(IntVec{g.rows, width}, x.dtype(), x.device());
    else
        c.result(IntVec{g.steps, g.batch, width}, x.dtype(), x.device());
    c.result(c.tensor(1).sizes(), x.dtype(), x.device());
    if (g.is_lstm())
        c.result(c.tensor(2).sizes(), x.dtype(), x.device());
    else
        c.result(IntVec{0}, x.dtype(), x.device());
    c.result(IntVec{c.flag(7) ? g.kept_size() * item_size(compute_dtype(x.dtype())) : 0}, DType::U8, x.device());
}

void rnn_layer_kernel(Call& c) {
    visit_floating(c.name(), compute_dtype(c.tensor(0).dtype()), [&](auto tag) { rnn_forward<decltype(tag)>(c); });
}

const OpRegistration r1{"_rnn_layer", {.shape = rnn_layer_shape, .kernel = rnn_layer_kernel}};

}  // namespace

}  // namespace mashal
