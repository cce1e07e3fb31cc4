// What the recurrent kernels share: the geometry of one layer, products with a fixed matrix, and how threads share
// work.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <vector>

#include "core/allocator.h"
#include "core/tensor.h"
#include "cpu/copy.h"
#include "cpu/rnn_loops.h"
#include "dispatch/primitive.h"

namespace mashal {

enum class RnnMode : int64_t { Tanh, Relu, Lstm, Gru };

// One layer, both directions of it where there are two. Sequences are sorted by length, longest first; the elements of
// step t of all sequences that are that long are `sizes[t]` rows from row `offsets[t]` on.
struct RnnGeometry {
    // Reads input, hx, cx and params from one place of the arguments, batch_sizes, mode and has_biases from another.
    // Raises for what does not fit together.
    RnnGeometry(const Call& c, size_t input_at, size_t batch_sizes_at);

    RnnMode mode;
    bool biases, projection;
    int64_t directions, steps, batch, rows = 0, input, hidden, state;
    int64_t gates;     // 1, 3 or 4
    int64_t columns;   // of the buffer of gates: gates * hidden, but 4 * hidden for a GRU
    int64_t n_params;  // of one direction: w_ih, w_hh, b_ih, b_hh, w_hr
    bool packed;       // given as rows, not as (steps, batch)
    bool cell;         // given as (batch) for a single step in one direction; only the states are wanted
    std::vector<int64_t> sizes, offsets;

    bool is_lstm() const { return mode == RnnMode::Lstm; }
    // Parts of what forward keeps for backward, in elements from its beginning.
    int64_t history_size() const { return rows * directions * state; }
    int64_t gates_size() const { return is_lstm() || mode == RnnMode::Gru ? rows * columns : 0; }
    int64_t cells_size() const { return is_lstm() ? rows * hidden : 0; }
    int64_t mixed_size() const { return projection ? rows * hidden : 0; }
    int64_t gates_at(int64_t d) const { return history_size() + d * (gates_size() + cells_size() + mixed_size()); }
    int64_t cells_at(int64_t d) const { return gates_at(d) + gates_size(); }
    int64_t mixed_at(int64_t d) const { return cells_at(d) + cells_size(); }
    int64_t kept_size() const { return gates_at(directions); }

    // The k-th step in the order of work of direction d.
    int64_t step(int64_t d, int64_t k) const { return d == 0 ? k : steps - 1 - k; }
    // How many rows of the k-th step continue a row of the step before it.
    int64_t continued(int64_t d, int64_t k) const {
        return k == 0 ? 0
                      : std::min(sizes[static_cast<size_t>(step(d, k))], sizes[static_cast<size_t>(step(d, k - 1))]);
    }
};

template <class T>
const RnnLoops<T>& rnn_loops();

// Packing a matrix costs about as much as a few products with one row.
constexpr int64_t kStepsToPack = 3;

// x -> x W for many small x: W is laid out once in the order in which the inner loop reads it. Results come in blocks
// of units; a block yields `ld` numbers per row, those of one gate being `gate` apart.
template <class T>
class RowProduct {
public:
    RowProduct() = default;
    // W^T is stored (gates * units, k), or, `across`, W is (k, units). Without `pack` the whole is one block, computed
    // by the general product.
    RowProduct(const T* weight, int64_t k, int64_t units, int64_t gates, bool across, bool pack);

    int64_t blocks = 0, width = 0, gate = 0, ld = 0;
    int64_t row_chunk = 0;  // rows to ask for at a time
    int64_t units_of(int64_t block) const { return std::min(width, units_ - block * width); }
    int64_t scratch_size(int64_t rows) const { return std::min(rows, row_chunk) * ld; }
    void run(int64_t block, int64_t rows, const T* a, int64_t lda, T* out) const;

private:
    const T* weight_ = nullptr;
    Tensor panels_;
    const T* panel_data_ = nullptr;
    int64_t k_ = 0, units_ = 0, gates_ = 1;
    bool across_ = false;
};

// Memory of one thread, aligned for the widest vectors.
template <class T>
class Scratch {
public:
    explicit Scratch(int64_t n) : bytes_(static_cast<size_t>(n) * sizeof(T)), p_(cpu_allocate(bytes_)) {}
    ~Scratch() { cpu_free(p_, bytes_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* data() const { return static_cast<T*>(p_); }

private:
    size_t bytes_;
    void* p_;
};

// Lets threads that share a sequence step wait for each other.
class SpinBarrier {
public:
    explicit SpinBarrier(int n) : n_(n) {}
    void wait();

private:
    const int n_;
    std::atomic<int> arrived_{0}, phase_{0};
};

// A share of the work of one direction: rows [row0, row1) and blocks of units [block0, block1).
struct RnnPart {
    int64_t row0, row1, block0, block1;
    SpinBarrier* barrier;  // where blocks are shared out; else null
};

// Calls work(direction, part) so that all rows and blocks are done, on as many threads as pay. `weight_bytes` is what
// every row has to pass over in one step.
void run_rnn_parts(const RnnGeometry& g, int64_t blocks, int64_t weight_bytes,
                   const std::function<void(int64_t, const RnnPart&)>& work);

}  // namespace mashal
