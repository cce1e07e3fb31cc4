// Inner loops of the float32 matrix product, by instruction set.
//
// B is brought into panels of `columns` columns, k rows each, zero where it ends: element (p, j) of a panel lies at
// [p * columns + j]. A is brought into panels of up to `rows` rows just before it is used.
#pragma once
#include <cstdint>

#include "cpu/isa_select.h"

namespace mashal {

// Part of an operand that the next block will read, to be brought near while this one is computed: `count` runs along k
// (`along`: each is a stored row), `ld` apart; else k runs across stored rows of `count` elements.
struct SgemmAhead {
    const float* data = nullptr;
    int64_t ld = 0;
    bool along = true;
    int64_t count = 0;
};

// C = alpha A B + beta C + bias, for a block of columns and of k. With beta 0, C is never read.
struct SgemmBlock {
    int64_t m, n, k;
    const float* a;
    int64_t lda;
    bool trans_a;
    const float* panels;  // of B: (n + columns - 1) / columns of them
    const float* rows;    // the panels of A, or null: then they are made on the way
    float* c;
    int64_t ldc;
    float alpha, beta;
    const float* bias;  // n elements, or null
    SgemmAhead ahead;   // of B; A's is known from the rest
};

struct SgemmLoops {
    int rows, columns, step;  // `step`: floats that a column of a panel of A takes
    // B (k, n) to panels; `trans`: it is stored as (n, k), with `ldb` between stored rows.
    void (*pack)(bool trans, const float* b, int64_t ldb, int64_t k, int64_t n, float* panels);
    // A, all rows, to sgemm_rows(loops, block.m, block.k) floats.
    void (*pack_rows)(const SgemmBlock& block, float* rows);
    // `scratch`: sgemm_scratch(loops, block.k) floats, aligned like `panels` to 64 bytes.
    void (*multiply)(const SgemmBlock& block, float* scratch);
};

// Panels of a transposed A that are packed together.
constexpr int64_t kSgemmPanels = 4;

// Those panels and one result tile.
constexpr int64_t sgemm_scratch(const SgemmLoops& loops, int64_t k) {
    return kSgemmPanels * k * loops.step + loops.rows * loops.columns;
}

constexpr int64_t sgemm_rows(const SgemmLoops& loops, int64_t m, int64_t k) {
    return (m + loops.rows - 1) / loops.rows * loops.step * k;
}

MASHAL_FOR_EACH_ISA(const SgemmLoops& sgemm_loops();)

}  // namespace mashal
