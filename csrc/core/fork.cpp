#include "core/fork.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <vector>

namespace mashal {

namespace {

struct Held {
    std::mutex mutex;  // of the table itself; taken first, released last
    std::array<std::vector<std::mutex*>, static_cast<size_t>(ForkRank::Count)> by_rank;
};
Held& held() {
    static Held* h = new Held;  // never destroyed: a fork may come at any time
    return *h;
}

std::atomic<uint32_t> g_forks{0}, g_generation{0};

void before() {
    Held& h = held();
    h.mutex.lock();
    for (auto& rank : h.by_rank)
        for (std::mutex* m : rank) m->lock();
    g_forks.fetch_add(1);
}
void after() {
    Held& h = held();
    for (auto rank = h.by_rank.rbegin(); rank != h.by_rank.rend(); ++rank)
        for (std::mutex* m : *rank) m->unlock();
    h.mutex.unlock();
}

[[maybe_unused]] const int g_registered = pthread_atfork(before, after, [] {
    g_generation.fetch_add(1);
    after();
});

}  // namespace

void hold_across_fork(std::mutex& mutex, ForkRank rank) {
    Held& h = held();
    std::lock_guard lock(h.mutex);
    h.by_rank[static_cast<size_t>(rank)].push_back(&mutex);
}

uint32_t fork_count() { return g_forks.load(std::memory_order_acquire); }
uint32_t process_generation() { return g_generation.load(std::memory_order_relaxed); }

}  // namespace mashal
