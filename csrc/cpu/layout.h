// Opaque layouts: a tensor of images (n, c, h, w) or (n, c, d, h, w) shows contiguous strides while its elements lie
// channels-last, the order in which convolutions and what stands between them run fastest.
//
// The storage of such a tensor is deferred: it holds the storage of the channels-last elements. Ops that know take the
// tensor behind it (`physical`) and hide the layout of what they make (`hide_layout`). Whoever else asks for the
// address makes the storage write the elements in the order of the strides, once and for all.
//
// What stands between convolutions can wait as well: a normalisation, a sum and an activation are noted as the tail of
// an image, and calculated in one pass when the next op asks for the elements. The memory that a tail reads is nobody's
// but the images': an image that is written in place leaves memory that others hold.
#pragma once
#include <limits>

#include "core/tensor.h"

namespace mashal {

// y = min(max(x * scale[c] + shift[c] + beside, low), high), for float32.
struct Tail {
    Ref<Storage> affine;  // the scales, then the shifts
    Ref<Storage> beside;
    float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
    bool clamps = false;

    bool any() const { return static_cast<bool>(affine); }
    bool takes_sum() const { return any() && !beside && !clamps; }
};

inline bool is_opaque(const Tensor& t) { return t->storage->is_deferred(); }

// The channels-last tensor that lies behind `t`, over memory of its own; undefined unless t is all of an opaque tensor.
Tensor physical(const Tensor& t);
// The same, to be written to: its memory is in no other use.
Tensor physical_for_writing(const Tensor& t);

// A tensor with contiguous strides whose elements lie as those of `t`, which nothing else may hold. A `t` that is not
// channels-last, or has the same order either way, is returned as it is.
Tensor hide_layout(const Tensor& t);
// Memory and tail of an image, as they are at one moment.
struct Image {
    Ref<Storage> memory;
    Tail tail;
};
// Of a tensor that is all of an opaque one; else without memory.
Image image_of(const Tensor& t);
// A tensor of the sizes and type of `like` that shows the image. Its memory may be held by others.
Tensor show_image(const Tensor& like, Image image);
// Makes `t` show the image; false, and nothing done, unless t is all of an opaque tensor.
bool become(const Tensor& t, Image image);

bool is_channels_last(const Tensor& t);  // of 4 or 5 dimensions, and not contiguous as well

}  // namespace mashal
