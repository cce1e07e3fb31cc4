// What the oneDNN files share: engine, threads, scratch memory and a cache of prepared primitives.
#pragma once
#include <dnnl.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/buffer.h"
#include "core/tensor.h"

namespace mashal::onednn {

const dnnl::engine& cpu_engine();
dnnl::stream& cpu_stream();
// Tells OpenMP, as this thread sees it, how many threads we use: oneDNN asks OpenMP. In a forked child that is one,
// which keeps it away from the thread pool that did not survive the fork.
void match_threads();
dnnl::memory::data_type data_type(DType t);
// Scratch memory comes from the caller, so that prepared primitives may run in several threads at once.
dnnl::primitive_attr user_scratchpad();

// Everything a prepared primitive depends on, as numbers.
using Key = std::vector<int64_t>;
struct KeyHash {
    size_t operator()(const Key& key) const {
        uint64_t h = 1469598103934665603u;
        for (int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 1099511628211u;
        return h ^ h >> 29;
    }
};

// Prepared primitives by key. When full it starts afresh: programs with that many shapes gain nothing from a cache.
template <class Entry>
class Cache {
public:
    template <class Make>
    std::shared_ptr<const Entry> get(const Key& key, Make&& make) {
        {
            std::lock_guard lock(mutex_);
            if (auto it = map_.find(key); it != map_.end()) return it->second;
        }
        std::shared_ptr<const Entry> entry = make();
        std::lock_guard lock(mutex_);
        if (map_.size() >= 1024) map_.clear();
        map_[key] = entry;
        return entry;
    }

private:
    std::mutex mutex_;
    std::unordered_map<Key, std::shared_ptr<const Entry>, KeyHash> map_;
};

}  // namespace mashal::onednn
