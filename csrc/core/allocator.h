// The CPU memory cache: freed blocks are kept by size class, so that large temporaries cost no page faults.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mashal {

constexpr size_t kAlignment = 64;

// 64-byte aligned, uninitialised. Raises OutOfMemory, with the size, when the request can't be met.
void* cpu_allocate(size_t nbytes);
void cpu_free(void* p, size_t nbytes) noexcept;

struct MemoryStats {
    int64_t allocated = 0;       // bytes in live blocks
    int64_t peak_allocated = 0;  // the most that was ever live since the last reset
    int64_t cached = 0;          // bytes kept for reuse
    int64_t allocations = 0;     // number of requests
};
MemoryStats memory_stats();
void reset_peak_memory();
// Returns cached blocks to the system.
void empty_memory_cache();

}  // namespace mashal
