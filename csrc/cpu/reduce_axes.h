// Index spaces of reductions: axes of input and result, and a walk over them.
#pragma once
#include <cstdint>

#include "core/small_vec.h"

namespace mashal {

struct Axis {
    int64_t size = 1, in = 0, out = 0;  // strides in elements
    bool reduced = false;
};
using Axes = SmallVec<Axis, 6>;

// Steps through the index space of some axes.
class Walk {
public:
    Walk(const Axes& axes, int64_t start) : axes_(axes), at_(axes.size()) {
        for (size_t d = axes.size(); d-- > 0;) {
            at_[d] = start % axes[d].size;
            start /= axes[d].size;
            in += at_[d] * axes[d].in;
            out += at_[d] * axes[d].out;
        }
    }
    void next() {
        for (size_t d = axes_.size(); d-- > 0;) {
            in += axes_[d].in;
            out += axes_[d].out;
            if (++at_[d] < axes_[d].size) return;
            in -= axes_[d].in * axes_[d].size;
            out -= axes_[d].out * axes_[d].size;
            at_[d] = 0;
        }
    }
    int64_t in = 0, out = 0;

private:
    const Axes& axes_;
    IntVec at_;
};

inline int64_t count(const Axes& axes) {
    int64_t n = 1;
    for (const Axis& a : axes) n *= a.size;
    return n;
}

}  // namespace mashal
