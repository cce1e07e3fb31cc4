// Recurrent layers: geometry, packed products and the sharing of work. The kernels are in rnn_forward.cpp and
// rnn_backward.cpp.
#include "cpu/rnn.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "core/parallel.h"
#include "cpu/gemm.h"
#include "cpu/transpose.h"

namespace mashal {

template <>
const RnnLoops<float>& rnn_loops<float>() {
    static const RnnLoops<float> loops = MASHAL_SELECT(rnn_loops_float)();
    return loops;
}
template <>
const RnnLoops<double>& rnn_loops<double>() {
    static const RnnLoops<double> loops = MASHAL_SELECT(rnn_loops_double)();
    return loops;
}

RnnGeometry::RnnGeometry(const Call& c, size_t input_at, size_t batch_sizes_at) {
    const std::string& op = c.name();
    const Tensor x = c.tensor(input_at), hx = c.tensor(input_at + 1), cx = c.tensor(input_at + 2);
    const auto& params = c.tensors(input_at + 3);
    const IntSpan given = c.ints(batch_sizes_at);
    const int64_t m = c.i64(batch_sizes_at + 1);
    biases = c.flag(batch_sizes_at + 2);
    MASHAL_CHECK(m >= 0 && m <= 3, op, "mode must be 0 (tanh), 1 (relu), 2 (LSTM) or 3 (GRU), got ", m, ".");
    mode = static_cast<RnnMode>(m);
    gates = is_lstm() ? 4 : mode == RnnMode::Gru ? 3 : 1;
    packed = !given.empty();
    cell = hx.dim() == 2;
    MASHAL_CHECK(is_floating(x.dtype()), op, "not implemented for '", dtype_legacy_name(x.dtype()), "'");
    MASHAL_CHECK(!(packed && cell), op, "hx must have 3 dimensions with batch_sizes, got hx ", text(hx), ".");
    MASHAL_CHECK(x.dim() == (packed || cell ? 2 : 3), op, "input must have ", packed || cell ? 2 : 3,
                 " dimensions, got input ", text(x), ".");
    MASHAL_CHECK(cell || (hx.dim() == 3 && (hx.size(0) == 1 || hx.size(0) == 2)), op,
                 "hx must be (directions, batch, hidden_size), got hx ", text(hx), ".");
    directions = cell ? 1 : hx.size(0);
    batch = hx.size(cell ? 0 : 1);
    state = hx.size(cell ? 1 : 2);
    input = x.size(x.dim() - 1);
    if (packed) {
        sizes.assign(given.begin(), given.end());
    } else {
        sizes.assign(cell ? 1 : static_cast<size_t>(x.size(0)), x.size(cell ? 0 : 1));
        MASHAL_CHECK(x.size(cell ? 0 : 1) == batch, op, "input and hx must have the same batch size, got input ",
                     text(x), " and hx ", text(hx), ".");
    }
    steps = static_cast<int64_t>(sizes.size());
    MASHAL_CHECK(steps > 0, op, "Expected sequence length to be larger than 0 in RNN, got input ", text(x), ".");
    int64_t last = sizes[0];
    MASHAL_CHECK(last == batch, op, "hx must have as many rows as the first of batch_sizes says (", last, "), got hx ",
                 text(hx), ".");
    for (int64_t n : sizes) {
        MASHAL_CHECK(n <= last && n >= (packed ? 1 : 0), op, "batch_sizes must be positive and must not grow, got ", n,
                     " after ", last, ".");
        offsets.push_back(rows);
        rows += n;
        last = n;
    }
    if (packed)
        MASHAL_CHECK(rows == x.size(0), op, "the sum of batch_sizes (", rows, ") must be the number of rows of input, ",
                     "got input ", text(x), ".");

    n_params = static_cast<int64_t>(params.size()) / directions;
    const int64_t plain = biases ? 4 : 2;
    projection = is_lstm() && n_params == plain + 1;
    MASHAL_CHECK(static_cast<int64_t>(params.size()) == directions * (plain + projection), op, "params must hold ",
                 plain, " tensors for each direction", is_lstm() ? " (one more with a projection)" : "", ", got ",
                 params.size(), " for ", directions, " direction(s).");
    MASHAL_CHECK(params[1].dim() == 2 && params[1].size(0) % gates == 0, op, "weight_hh must be (", gates,
                 " * hidden_size, hidden_size), got weight_hh ", text(params[1]), ".");
    hidden = params[1].size(0) / gates;
    columns = mode == RnnMode::Gru ? 4 * hidden : gates * hidden;
    const int64_t width = gates * hidden;
    auto check = [&](const char* name, const Tensor& t, const IntVec& shape) {
        MASHAL_CHECK(equal(t.sizes(), shape), op, name, " must have shape ", shape_text(shape), ", got ", name, " ",
                     text(t), " with input ", text(x), " and hx ", text(hx), ".");
        MASHAL_CHECK(t.dtype() == x.dtype(), op, name, " must have the dtype of input, got ", name, " ", text(t),
                     " and input ", text(x), ".");
    };
    auto of_states = [&](int64_t width) { return cell ? IntVec{batch, width} : IntVec{directions, batch, width}; };
    for (int64_t d = 0; d < directions; d++) {
        const auto at = static_cast<size_t>(d * n_params);
        check("weight_ih", params[at], IntVec{width, input});
        check("weight_hh", params[at + 1], IntVec{width, state});
        if (biases) check("bias_ih", params[at + 2], IntVec{width});
        if (biases) check("bias_hh", params[at + 3], IntVec{width});
        if (projection) check("weight_hr", params[at + static_cast<size_t>(plain)], IntVec{state, hidden});
    }
    check("hx", hx, of_states(projection ? state : hidden));
    if (is_lstm()) {
        MASHAL_CHECK(cx.defined(), op, "an LSTM needs cx, got None.");
        check("cx", cx, of_states(hidden));
    }
}

// ---- products with a fixed matrix ----

namespace {
constexpr int64_t kRowChunk = 32;  // of results of one block: they stay in the first-level cache
}

template <class T>
RowProduct<T>::RowProduct(const T* weight, int64_t k, int64_t units, int64_t gates, bool across, bool pack)
    : weight_(weight), k_(k), units_(units), gates_(gates), across_(across) {
    if (!pack) {
        blocks = 1;
        width = gate = units;
        ld = gates * units;
        row_chunk = int64_t{1} << 40;
        return;
    }
    // Three or four vectors: those of the gates of a vector of units, or of neighbouring units.
    const int64_t lanes = rnn_loops<T>().lanes, vectors = gates == 3 ? 3 : 4;
    width = gate = vectors / gates * lanes;
    ld = vectors * lanes;
    blocks = (units + width - 1) / width;
    row_chunk = kRowChunk;
    const int64_t size[1] = {blocks * k * ld};
    panels_ = empty(size, dtype_of<T>::value);
    T* out = panels_.data<T>();
    panel_data_ = out;
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, k * ld)), [&](int64_t b0, int64_t b1) {
        for (int64_t b = b0; b < b1; b++) {
            T* panel = out + b * k * ld;
            const int64_t n = units_of(b);
            if (n < width) std::fill(panel, panel + k * ld, T(0));
            for (int64_t g = 0; g < gates; g++) {
                if (across)
                    for (int64_t p = 0; p < k; p++) std::copy_n(weight + p * units + b * width, n, panel + p * ld);
                else
                    transpose_plane(n, k, weight + (g * units + b * width) * k, k, panel + g * gate, ld);
            }
        }
    });
}

template <class T>
void RowProduct<T>::run(int64_t block, int64_t rows, const T* a, int64_t lda, T* out) const {
    if (panel_data_ != nullptr) {
        const RnnLoops<T>& loops = rnn_loops<T>();
        (gates_ == 3 ? loops.product3 : loops.product4)(rows, k_, a, lda, panel_data_ + block * k_ * ld, out, ld);
    } else {
        gemm(dtype_of<T>::value, rows, ld, k_, Scalar::of(1.0), {a, lda, false}, {weight_, across_ ? ld : k_, !across_},
             Scalar::of(0.0), out, ld);
    }
}

template class RowProduct<float>;
template class RowProduct<double>;

// ---- threads ----

void SpinBarrier::wait() {
    const int phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_) {
        arrived_.store(0, std::memory_order_relaxed);
        phase_.store(phase + 1, std::memory_order_release);
        return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; spins++) {
        if (spins > 2000) std::this_thread::yield();  // more threads than processors
#if defined(__x86_64__)
        else
            __builtin_ia32_pause();
#endif
    }
}

namespace {

// Cuts rows so that every part has about as many steps to do; long sequences come first.
std::vector<int64_t> cut_rows(const RnnGeometry& g, int parts) {
    std::vector<int64_t> cuts{0};
    int64_t done = 0;
    int64_t length = g.steps;
    for (int64_t row = 0; row < g.batch && static_cast<int>(cuts.size()) < parts; row++) {
        while (length > 0 && g.sizes[static_cast<size_t>(length - 1)] <= row) length--;
        done += length;
        if (done * parts >= g.rows * static_cast<int64_t>(cuts.size())) cuts.push_back(row + 1);
    }
    while (static_cast<int>(cuts.size()) <= parts) cuts.push_back(g.batch);
    return cuts;
}

// From this many multiply-adds on another thread pays.
constexpr double kParallelWork = 1e6;
// Weights above this do not stay in the cache of one core: better that every core passes over its part of them only.
constexpr int64_t kCachedWeights = 3 << 19;
constexpr int64_t kRowsPerThread = 4;

}  // namespace

void run_rnn_parts(const RnnGeometry& g, int64_t blocks, int64_t weight_bytes,
                   const std::function<void(int64_t, const RnnPart&)>& work) {
    const double per_step = static_cast<double>(g.gates * g.hidden) * static_cast<double>(g.state);
    const double amount = static_cast<double>(g.rows * g.directions) * per_step;
    int threads = in_parallel() || amount < kParallelWork ? 1 : num_threads();
    const RnnPart whole{0, g.batch, 0, blocks, nullptr};
    const bool side_by_side = g.directions == 2 && threads >= 2;
    const int parts = side_by_side ? threads / 2 : threads;
    if (threads == 1) {
        for (int64_t d = 0; d < g.directions; d++) work(d, whole);
        return;
    }
    const bool by_rows =
        g.projection || blocks < parts || (g.batch >= kRowsPerThread * parts && weight_bytes <= kCachedWeights);
    const std::vector<int64_t> cuts = cut_rows(g, parts);
    std::vector<std::unique_ptr<SpinBarrier>> barriers;
    for (int64_t d = 0; d < g.directions; d++) barriers.push_back(std::make_unique<SpinBarrier>(parts));
    const int needed = side_by_side ? 2 * parts : parts;
#pragma omp parallel num_threads(needed)
    {
        const int id = omp_get_thread_num();
        auto run = [&](int64_t d, int part) {
            const auto p = static_cast<size_t>(part);
            if (by_rows)
                work(d, {cuts[p], cuts[p + 1], 0, blocks, nullptr});
            else
                work(d, {0, g.batch, blocks * part / parts, blocks * (part + 1) / parts,
                         barriers[static_cast<size_t>(d)].get()});
        };
        if (omp_get_num_threads() < needed) {  // fewer than asked for: nobody may wait for the missing ones
            if (id == 0)
                for (int64_t d = 0; d < g.directions; d++) work(d, whole);
        } else if (side_by_side) {
            run(id / parts, id % parts);
        } else {
            for (int64_t d = 0; d < g.directions; d++) run(d, id);
        }
    }
}

}  // namespace mashal
