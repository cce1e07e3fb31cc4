#include "core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/errors.h"
#include "core/fork.h"

namespace mashal {

namespace {

// Small blocks come in steps of 64 bytes up to 1 KiB and live in a thread-local free list without locks; larger ones in
// a shared table with four classes per power of two (at most 25 % waste).
constexpr size_t kSmallLimit = 1024;
constexpr size_t kSmallClasses = kSmallLimit / kAlignment;
constexpr size_t kSmallKept = 256;
constexpr size_t kHugePage = size_t{2} << 20;

size_t round_large(size_t n) {
    size_t power = size_t{1} << (63 - __builtin_clzll(n));
    size_t step = std::max<size_t>(power / 4, kAlignment);
    return (n + step - 1) / step * step;
}

struct SmallCache {
    std::vector<void*> lists[kSmallClasses];
    ~SmallCache() {
        for (auto& list : lists) {
            for (void* p : list) std::free(p);
            list.clear();
        }
        dead() = true;
    }
    // Blocks freed after this thread's cache is gone go straight to the system.
    static bool& dead() {
        static thread_local bool d = false;
        return d;
    }
    static SmallCache& get() {
        static thread_local SmallCache cache;
        return cache;
    }
};

struct LargeCache {
    std::mutex mutex;
    std::unordered_map<size_t, std::vector<void*>> blocks;
    size_t cached = 0;
};
LargeCache& large_cache() {
    // Never destroyed: tensors may outlive static destruction.
    static LargeCache* cache = [] {
        auto* fresh = new LargeCache;
        hold_across_fork(fresh->mutex, ForkRank::Allocator);
        return fresh;
    }();
    return *cache;
}

std::atomic<int64_t> g_allocated{0}, g_peak{0}, g_requests{0};

void count(int64_t bytes) {
    int64_t now = g_allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = g_peak.load(std::memory_order_relaxed);
    while (now > peak && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
}

// A sanitizer sees an access past the end of a block, or after its death, only where blocks are exact and not kept.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kExactBlocks = true;
#else
constexpr bool kExactBlocks = false;
#endif

void* exact_allocate(size_t nbytes) {
    void* p = nullptr;
    if (nbytes > (size_t{1} << 40) || posix_memalign(&p, kAlignment, nbytes) != 0)
        raise_error(ErrorKind::OutOfMemory, "", "not enough memory: you tried to allocate ", nbytes,
                    " bytes on the CPU");
    count(static_cast<int64_t>(nbytes));
    return p;
}

void* system_allocate(size_t rounded, size_t wanted) {
    size_t align = rounded >= kHugePage ? kHugePage : kAlignment;
    void* p = rounded < wanted ? nullptr : std::aligned_alloc(align, (rounded + align - 1) / align * align);
    if (p == nullptr) {
        empty_memory_cache();
        p = rounded < wanted ? nullptr : std::aligned_alloc(align, (rounded + align - 1) / align * align);
    }
    if (p == nullptr)
        raise_error(ErrorKind::OutOfMemory, "", "not enough memory: you tried to allocate ", wanted,
                    " bytes on the CPU (", g_allocated.load(), " bytes are in use)");
#ifdef MADV_HUGEPAGE
    // Only whole huge pages, so that no more memory is taken than was asked for. Where the system refuses, nothing is
    // lost but speed.
    if (align == kHugePage) madvise(p, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return p;
}

}  // namespace

void* cpu_allocate(size_t nbytes) {
    if (nbytes == 0) return nullptr;
    if constexpr (kExactBlocks) return exact_allocate(nbytes);
    if (nbytes <= kSmallLimit) {
        size_t cls = (nbytes - 1) / kAlignment;
        count(static_cast<int64_t>((cls + 1) * kAlignment));
        if (!SmallCache::dead()) {
            auto& list = SmallCache::get().lists[cls];
            if (!list.empty()) {
                void* p = list.back();
                list.pop_back();
                return p;
            }
        }
        return system_allocate((cls + 1) * kAlignment, nbytes);
    }
    if (nbytes > (size_t{1} << 48)) system_allocate(0, nbytes);  // refuses: rounding would overflow
    size_t rounded = round_large(nbytes);
    g_requests.fetch_add(1, std::memory_order_relaxed);
    {
        LargeCache& cache = large_cache();
        std::lock_guard lock(cache.mutex);
        auto it = cache.blocks.find(rounded);
        if (it != cache.blocks.end() && !it->second.empty()) {
            void* p = it->second.back();
            it->second.pop_back();
            cache.cached -= rounded;
            count(static_cast<int64_t>(rounded));
            return p;
        }
    }
    void* p = system_allocate(rounded, nbytes);
    count(static_cast<int64_t>(rounded));
    return p;
}

void cpu_free(void* p, size_t nbytes) noexcept {
    if (p == nullptr) return;
    if constexpr (kExactBlocks) {
        count(-static_cast<int64_t>(nbytes));
        std::free(p);
        return;
    }
    if (nbytes <= kSmallLimit) {
        size_t cls = (nbytes - 1) / kAlignment;
        count(-static_cast<int64_t>((cls + 1) * kAlignment));
        if (!SmallCache::dead()) {
            auto& list = SmallCache::get().lists[cls];
            if (list.size() < kSmallKept) {
                list.push_back(p);
                return;
            }
        }
        std::free(p);
        return;
    }
    size_t rounded = round_large(nbytes);
    count(-static_cast<int64_t>(rounded));
    LargeCache& cache = large_cache();
    std::lock_guard lock(cache.mutex);
    // Never keep more than what is in use plus a floor, so that a finished phase gives its memory back.
    size_t limit = std::max<size_t>(static_cast<size_t>(std::max<int64_t>(g_peak.load(), 0)), size_t{256} << 20);
    if (cache.cached + rounded > limit) {
        std::free(p);
        return;
    }
    cache.blocks[rounded].push_back(p);
    cache.cached += rounded;
}

MemoryStats memory_stats() {
    MemoryStats s;
    s.allocated = g_allocated.load();
    s.peak_allocated = g_peak.load();
    s.allocations = g_requests.load();
    std::lock_guard lock(large_cache().mutex);
    s.cached = static_cast<int64_t>(large_cache().cached);
    return s;
}

void reset_peak_memory() { g_peak.store(g_allocated.load()); }

void empty_memory_cache() {
    LargeCache& cache = large_cache();
    std::lock_guard lock(cache.mutex);
    for (auto& [size, list] : cache.blocks) {
        for (void* p : list) std::free(p);
        list.clear();
    }
    cache.cached = 0;
}

}  // namespace mashal
