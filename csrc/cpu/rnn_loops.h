// Inner loops of the recurrent kernels: products with a packed matrix, and what happens to the gates of a cell.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// A rectangle of cells: `rows` sequences by `units` hidden units. The gates of a unit lie `hidden` apart in `gates` and
// `bias`, and `product_gate` apart in `product`.
template <class T>
struct CellForward {
    int64_t rows, units, hidden;
    const T* product;  // h W^T
    int64_t product_ld, product_gate;
    T* gates;  // in: x W^T; out: the gates after their activations (LSTM i f g o; GRU r z n, and h W^T + b of n)
    int64_t gates_ld;
    const T* bias;    // by gate; the fourth of a GRU belongs to h W^T of n
    const T* before;  // the step before: LSTM c, GRU h
    int64_t before_ld;
    T* cell;  // LSTM: c; may be `before`
    int64_t cell_ld;
    T* state;  // h
    int64_t state_ld;
};

template <class T>
struct CellBackward {
    int64_t rows, units, hidden;
    T* grad;  // of h, from the step after; GRU: becomes the part that goes straight on to the step before
    int64_t grad_ld;
    const T* outer;  // of h, from the layer's result
    int64_t outer_ld;
    const T* gates;
    int64_t gates_ld;
    const T* before;
    int64_t before_ld;
    const T* cell;  // LSTM: c; RNN: h
    int64_t cell_ld;
    T* grad_cell;  // LSTM, in place: of c, from the step after and for the step before
    int64_t grad_cell_ld;
    T* grad_gates;  // before the activations: LSTM i f g o; GRU n r z and h W^T + b of n
    int64_t grad_gates_ld;
};

// out (rows, C vectors) = a (rows, k) panel (k, C vectors), C being 3 or 4.
template <class T>
using PanelProduct = void(int64_t rows, int64_t k, const T* a, int64_t lda, const T* panel, T* out, int64_t ldo);

template <class T>
struct RnnLoops {
    int lanes;  // elements of a vector
    PanelProduct<T>*product3, *product4;
    // By RnnMode.
    void (*forward[4])(const CellForward<T>&);
    void (*backward[4])(const CellBackward<T>&);
};

MASHAL_FOR_EACH_ISA(RnnLoops<float> rnn_loops_float(); RnnLoops<double> rnn_loops_double();)

}  // namespace mashal
