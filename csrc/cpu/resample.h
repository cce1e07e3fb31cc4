// Linear maps that work on each spatial axis by itself: interpolation, average pooling, padding by indices. Each is a
// table of (index, weight) taps per output position and axis; its adjoint is the transposed table.
#pragma once
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace mashal {

struct AxisTable {
    int64_t in = 0, out = 0;
    std::vector<int64_t> start{0};  // taps of output o: [start[o], start[o + 1])
    std::vector<int64_t> index;
    std::vector<double> weight;

    void add_tap(int64_t i, double w) {
        index.push_back(i);
        weight.push_back(w);
    }
    void end_output() { start.push_back(static_cast<int64_t>(index.size())); }
    bool is_identity() const;
    // Every output is a copy of one input.
    bool is_selection() const;
    // Taps of every output, if all have the same number of them; else 0.
    int64_t uniform_taps() const;
    AxisTable transposed() const;
};

// Taps of one axis, in PyTorch's coordinates. `scale` <= 0: not given. Positions are computed in float32 unless
// `in_double`, as PyTorch does for the element type.
enum class Interpolation { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias, LanczosAntialias };
AxisTable interpolation_table(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale,
                              bool in_double);
AxisTable adaptive_average_table(int64_t in, int64_t out);
// `divide`: weights are 1 / window size; otherwise 1 (a divisor is applied elsewhere).
AxisTable average_table(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool include_padding,
                        bool divide);
enum class PadMode { Reflect, Replicate, Circular };
AxisTable padding_table(PadMode mode, int64_t in, int64_t before, int64_t after);

// Applies one table to each of the last tables.size() dimensions. Contiguous and channels-last tensors are worked on as
// they are; `output` has the layout of `input` or is copied over. Half types are computed in float32, uint8 is rounded.
void resample(const Tensor& input, const std::vector<AxisTable>& tables, const Tensor& output);

// Strides of a result whose layout follows `like`: channels-last if it is, otherwise empty (contiguous).
IntVec following_strides(IntSpan sizes, const Tensor& like, size_t spatial);

}  // namespace mashal
