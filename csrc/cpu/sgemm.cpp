#include "cpu/sgemm.h"

#include <unistd.h>

#include <algorithm>

#include "core/parallel.h"
#include "core/prepared.h"
#include "cpu/sgemm_loops.h"

namespace mashal {

namespace {

const SgemmLoops& loops() {
    static const SgemmLoops& found = MASHAL_SELECT(sgemm_loops)();
    return found;
}

// Rows of B in a block: a panel of A of this length lies well within the first-level cache.
constexpr int64_t kMostRows = 384;

// Floats in a block of B: half of the second-level cache, beside what comes next.
int64_t block_floats() {
    static const int64_t found = [] {
        const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or less when unknown
        return (bytes > 0 ? bytes : 512 * 1024) / 2 / static_cast<int64_t>(sizeof(float));
    }();
    return found;
}

constexpr int64_t kMostPackedRows = 384;  // of A, which stay in the second-level cache
constexpr int64_t kFetchedPanels = 2;
constexpr int64_t kFewestToKeep = 4096;  // elements of a weight

int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

// The size of blocks that are equal, at most `most` each and multiples of `step`.
int64_t equal_blocks(int64_t size, int64_t most, int64_t step) {
    const int64_t blocks = (size + most - 1) / most;
    return round_up((size + blocks - 1) / blocks, step);
}

int64_t block_rows(int64_t k) { return equal_blocks(k, kMostRows, 16); }

const float* at(MatrixView v, int64_t row, int64_t col) {
    return static_cast<const float*>(v.data) + (v.trans ? col * v.ld + row : row * v.ld + col);
}

// Rows [i0, i1) and columns [j0, j1) of C.
struct Part {
    int64_t i0, i1, j0, j1;
};

// For columns from j on and rows of B from p on: what a block takes from the problem.
SgemmBlock block_at(const SgemmProblem& s, const Part& part, int64_t j, int64_t n, int64_t p, int64_t k) {
    return {.m = part.i1 - part.i0,
            .n = n,
            .k = k,
            .a = at(s.a, part.i0, p),
            .lda = s.a.ld,
            .trans_a = s.a.trans,
            .panels = nullptr,
            .rows = nullptr,
            .c = s.c + part.i0 * s.ldc + j,
            .ldc = s.ldc,
            .alpha = s.alpha,
            .beta = p == 0 ? s.beta : 1,
            .bias = p == 0 && s.bias != nullptr ? s.bias + j : nullptr,
            .ahead = {}};
}

void multiply_part(const SgemmProblem& s, const Part& part) {
    const int64_t rows = block_rows(s.k),
                  columns = equal_blocks(part.j1 - part.j0, block_floats() / rows, loops().columns);
    const Floats scratch(sgemm_scratch(loops(), rows)), panels(columns * rows);
    for (int64_t j = part.j0; j < part.j1; j += columns) {
        for (int64_t p = 0; p < s.k; p += rows) {
            SgemmBlock block = block_at(s, part, j, std::min(columns, part.j1 - j), p, std::min(rows, s.k - p));
            loops().pack(s.b.trans, at(s.b, p, j), s.b.ld, block.k, block.n, panels.data());
            block.panels = panels.data();
            const bool more = p + rows < s.k;
            const int64_t next_p = more ? p + rows : 0, next_j = more ? j : j + columns;
            if (next_j < part.j1)
                block.ahead = {at(s.b, next_p, next_j), s.b.ld, s.b.trans, std::min(columns, part.j1 - next_j)};
            loops().multiply(block, scratch.data());
        }
    }
}

// B is read once from far memory, so its blocks are small, and the next is fetched while one is used.
void multiply_packed_rows(const SgemmProblem& s, const PackedB& b, const Part& part, const Floats& scratch,
                          const Floats& a) {
    const int64_t rows = block_rows(s.k), columns = kFetchedPanels * loops().columns;
    for (int64_t p = 0; p < s.k; p += rows) {
        const int64_t k = std::min(rows, s.k - p);
        loops().pack_rows(block_at(s, part, part.j0, 0, p, k), a.data());
        for (int64_t j = part.j0; j < part.j1; j += columns) {
            SgemmBlock block = block_at(s, part, j, std::min(columns, part.j1 - j), p, k);
            block.panels = b.block(p) + j * k;
            block.rows = a.data();
            if (j + columns < part.j1)
                block.ahead = {block.panels + columns * k, k, true, std::min(columns, part.j1 - j - columns)};
            else if (p + rows < s.k)
                block.ahead = {b.block(p + rows) + part.j0 * std::min(rows, s.k - p - rows), k, true, columns};
            loops().multiply(block, scratch.data());
        }
    }
}

void multiply_packed_part(const SgemmProblem& s, const PackedB& b, const Part& part) {
    const int64_t rows = block_rows(s.k), height = equal_blocks(part.i1 - part.i0, kMostPackedRows, loops().rows);
    const Floats scratch(sgemm_scratch(loops(), rows)), a(sgemm_rows(loops(), height, rows));
    for (int64_t i = part.i0; i < part.i1; i += height)
        multiply_packed_rows(s, b, {i, std::min(part.i1, i + height), part.j0, part.j1}, scratch, a);
}

}  // namespace

PackedB::PackedB(int64_t k, int64_t n, MatrixView b)
    : panels_(k * round_up(n, loops().columns)), columns_(round_up(n, loops().columns)) {
    const int64_t rows = block_rows(k), width = loops().columns;
    parallel_for(0, columns_ / width, std::max<int64_t>(1, kGrain / (k * width)), [&](int64_t begin, int64_t end) {
        for (int64_t p = 0; p < k; p += rows) {
            const int64_t height = std::min(rows, k - p);
            loops().pack(b.trans, at(b, p, begin * width), b.ld, height, std::min(n, end * width) - begin * width,
                         panels_.data() + p * columns_ + begin * width * height);
        }
    });
}

const float* PackedB::block(int64_t p) const { return panels_.data() + p * columns_; }

KeptWeight::KeptWeight(const Tensor& weight, MatrixView view)
    : sizes(weight.sizes()), strides(weight.strides()), offset(weight->offset), packed(sizes[0], sizes[1], view) {}

bool KeptWeight::is_of(const Tensor& weight) const {
    return equal(sizes, weight.sizes()) && equal(strides, weight.strides()) && offset == weight->offset;
}

bool can_keep(const Tensor& weight) {
    return weight.dtype() == DType::F32 && weight.numel() >= kFewestToKeep && weight->storage->is_private();
}

Ref<KeptWeight> kept_weight(const Tensor& weight) {
    if (!can_keep(weight)) return {};
    return prepared_or_made<KeptWeight>(
        *weight->storage, [&](const KeptWeight& kept) { return kept.is_of(weight); },
        [&] {
            Tensor dense = weight;
            const MatrixView view = as_matrix(dense);
            return make_ref<KeptWeight>(weight, view);
        });
}

void sgemm(const SgemmProblem& s, const PackedB* packed) {
    const Grid grid = cut_product(s.m, s.n, product_threads(s.m, s.n, s.k));  // short sides: all of them are packed
    const int64_t height = (s.m + grid.down - 1) / grid.down;
    const int64_t width = round_up((s.n + grid.across - 1) / grid.across, loops().columns);
    parallel_for(0, int64_t(grid.down) * grid.across, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; part++) {
            const int64_t i = part / grid.across * height, j = part % grid.across * width;
            const Part its{i, std::min(s.m, i + height), j, std::min(s.n, j + width)};
            if (i >= s.m || j >= s.n) continue;
            if (packed != nullptr)
                multiply_packed_part(s, *packed, its);
            else
                multiply_part(s, its);
        }
    });
}

}  // namespace mashal
