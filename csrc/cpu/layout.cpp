#include "cpu/layout.h"

#include <mutex>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/channel_loops.h"
#include "cpu/copy.h"

namespace mashal {

namespace {

class ChannelsLast final : public Deferred {
public:
    ChannelsLast(Image image, IntVec s, DType t)
        : sizes(std::move(s)), dtype(t), memory_(std::move(image.memory)), tail_(std::move(image.tail)) {}

    void write(void* to) const override {
        const Ref<Storage> from = memory();
        copy_strided(dtype, sizes, to, contiguous_strides(sizes), from->data(), channels_last_strides(sizes));
    }
    Ref<Storage> memory() const {
        std::lock_guard lock(mutex_);
        if (tail_.any()) {
            memory_ = finished();
            tail_ = {};
        }
        return memory_;
    }
    Ref<Storage> memory_for_writing() const {
        Ref<Storage> now = memory();
        std::lock_guard lock(mutex_);
        if (now->use_count() > 2) {  // ours, and `now`
            memory_ = make_ref<Storage>(now->nbytes(), Device{});
            const int64_t n = product();
            copy_strided(dtype, IntVec{n}, memory_->data(), IntVec{1}, now->data(), IntVec{1});
        }
        return memory_;
    }
    Image image() const {
        std::lock_guard lock(mutex_);
        return {memory_, tail_};
    }
    void replace(Image image) const {
        std::lock_guard lock(mutex_);
        memory_ = std::move(image.memory);
        tail_ = std::move(image.tail);
    }

    const IntVec sizes;
    const DType dtype;

private:
    int64_t product() const {
        int64_t n = 1;
        for (int64_t s : sizes) n *= s;
        return n;
    }
    Ref<Storage> finished() const {
        // In place where nobody else holds the memory.
        const Ref<Storage> result =
            memory_->use_count() == 1 ? memory_ : make_ref<Storage>(memory_->nbytes(), Device{});
        const int64_t channels = sizes[1], rows = product() / channels;
        const auto* x = static_cast<const float*>(memory_->data());
        const auto* scale = static_cast<const float*>(tail_.affine->data());
        const auto* beside = tail_.beside ? static_cast<const float*>(tail_.beside->data()) : nullptr;
        auto* y = static_cast<float*>(result->data());
        const auto loop = MASHAL_SELECT(finish_image);
        parallel_for(0, rows, std::max<int64_t>(1, kGrain / channels), [&](int64_t b, int64_t e) {
            const int64_t at = b * channels;
            loop(e - b, channels, x + at, scale, scale + channels, beside ? beside + at : nullptr, tail_.low,
                 tail_.high, y + at);
        });
        return result;
    }

    mutable std::mutex mutex_;
    mutable Ref<Storage> memory_;
    mutable Tail tail_;
};

// The layout of a tensor that is all of an opaque one, else null.
Ref<ChannelsLast> layout_of(const Tensor& t) {
    const Ref<Deferred> deferred = t->storage->deferred();
    if (!deferred || !t.is_contiguous() || t->offset != 0) return {};
    auto* layout = static_cast<ChannelsLast*>(deferred.get());
    if (!(layout->sizes == t.sizes()) || layout->dtype != t.dtype()) return {};
    return Ref<ChannelsLast>(layout);
}

Tensor over(Ref<Storage> storage, const IntVec& sizes, const IntVec& strides, DType dtype) {
    Tensor t(new TensorObj);
    t->storage = std::move(storage);
    t->sizes = sizes;
    t->strides = strides;
    t->dtype = dtype;
    t->geometry_changed();
    return t;
}

}  // namespace

bool is_channels_last(const Tensor& t) {
    if (t.is_contiguous()) return false;
    return (t.dim() == 4 && is_contiguous_as(t, MemoryFormat::ChannelsLast)) ||
           (t.dim() == 5 && is_contiguous_as(t, MemoryFormat::ChannelsLast3d));
}

Tensor physical(const Tensor& t) {
    const Ref<ChannelsLast> layout = layout_of(t);
    if (!layout) return {};
    Ref<Storage> memory;
    {
        AllowThreads threads(t.numel() > kGrain);
        memory = layout->memory();
    }
    return over(std::move(memory), t.sizes(), channels_last_strides(t.sizes()), t.dtype());
}

Tensor physical_for_writing(const Tensor& t) {
    const Ref<ChannelsLast> layout = layout_of(t);
    if (!layout) return {};
    return over(layout->memory_for_writing(), t.sizes(), channels_last_strides(t.sizes()), t.dtype());
}

Tensor hide_layout(const Tensor& t) {
    if (t.is_contiguous()) {  // but the strides of dimensions of size 1 may tell
        const IntVec strides = contiguous_strides(t.sizes());
        return t.strides() == strides ? t : alias(t, t.sizes(), strides, t->offset);
    }
    if (!is_channels_last(t) || t->offset != 0 || !t.device().is_cpu()) return t;
    return show_image(t, {t->storage, {}});
}

Image image_of(const Tensor& t) {
    const Ref<ChannelsLast> layout = layout_of(t);
    return layout ? layout->image() : Image();
}

Tensor show_image(const Tensor& like, Image image) {
    const size_t nbytes = image.memory->nbytes();
    return over(make_ref<Storage>(nbytes, make_ref<ChannelsLast>(std::move(image), like.sizes(), like.dtype())),
                like.sizes(), contiguous_strides(like.sizes()), like.dtype());
}

bool become(const Tensor& t, Image image) {
    const Ref<ChannelsLast> layout = layout_of(t);
    if (layout) layout->replace(std::move(image));
    return static_cast<bool>(layout);
}

}  // namespace mashal
