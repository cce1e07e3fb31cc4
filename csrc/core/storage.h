// A block of memory that tensors view.
#pragma once
#include <cstddef>

#include "core/device.h"
#include "core/refcount.h"

namespace mashal {

class Storage final : public RefCounted {
public:
    using Release = void (*)(void* context) noexcept;

    // Own memory from the allocator (none on the meta device).
    Storage(size_t nbytes, Device device);
    // Foreign memory (NumPy, DLPack, shared memory): `release(context)` when the last view is gone.
    Storage(void* data, size_t nbytes, Device device, Release release, void* context);

    void* data() const { return data_; }
    size_t nbytes() const { return nbytes_; }
    Device device() const { return device_; }
    bool is_foreign() const { return release_ != nullptr; }
    // Foreign memory cannot be resized, nor memory that others (NumPy, DLPack) hold the address of.
    bool resizable() const { return release_ == nullptr && !exported_; }
    void mark_exported() { exported_ = true; }
    // Grows or shrinks, keeping the common prefix.
    void resize(size_t nbytes);

    // Counts in-place writes, so that autograd notices that a saved tensor has changed.
    uint32_t version = 0;

private:
    ~Storage() override;

    void* data_ = nullptr;
    size_t nbytes_ = 0;
    Device device_;
    bool exported_ = false;
    Release release_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace mashal
