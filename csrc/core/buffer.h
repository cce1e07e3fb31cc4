// Uninitialised scratch memory for the time of a call, from the memory cache.
#pragma once
#include "core/allocator.h"

namespace mashal {

class Buffer {
public:
    explicit Buffer(size_t nbytes) : nbytes_(nbytes), data_(nbytes == 0 ? nullptr : cpu_allocate(nbytes)) {}
    ~Buffer() {
        if (data_ != nullptr) cpu_free(data_, nbytes_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* data() const { return data_; }

private:
    size_t nbytes_;
    void* data_;
};

// Scratch of n floats.
struct Floats : Buffer {
    explicit Floats(int64_t n) : Buffer(static_cast<size_t>(n) * sizeof(float)) {}
    float* data() const { return static_cast<float*>(Buffer::data()); }
};

}  // namespace mashal
