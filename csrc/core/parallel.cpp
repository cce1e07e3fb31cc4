#include "core/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace mashal {

namespace {
// GNU OpenMP's pool does not survive fork, and waiting for it would never end: a child of a process that had one stays
// single-threaded, whatever number it asks for.
std::atomic<int> g_threads{0};
std::atomic<bool> g_pool_is_dead{false};
thread_local bool t_serial = false;

int default_threads() {
    pthread_atfork(nullptr, nullptr, [] {
        g_threads.store(1);
        g_pool_is_dead.store(true);
        omp_set_num_threads(1);
    });
    return std::max(1, omp_get_max_threads());
}
}  // namespace

int num_threads() {
    if (t_serial) return 1;
    int n = g_threads.load(std::memory_order_relaxed);
    if (n == 0) [[unlikely]] {
        n = default_threads();
        g_threads.store(n);
    }
    return n;
}

void keep_thread_serial() { t_serial = true; }

void set_num_threads(int n) {
    num_threads();
    if (g_pool_is_dead.load()) n = 1;
    g_threads.store(n);
    omp_set_num_threads(n);
}

bool in_parallel() { return omp_in_parallel() != 0; }

void parallel_run(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
    int64_t total = end - begin;
    int64_t parts = std::min<int64_t>(num_threads(), (total + grain - 1) / std::max<int64_t>(grain, 1));
    int64_t chunk = (total + parts - 1) / parts;
    std::exception_ptr failure;
#pragma omp parallel num_threads(static_cast<int>(parts))
    {
        int64_t b = begin + omp_get_thread_num() * chunk;
        int64_t e = std::min(end, b + chunk);
        if (b < e) {
            try {
                body(context, b, e);
            } catch (...) {
#pragma omp critical(mashal_parallel_failure)
                failure = std::current_exception();
            }
        }
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace mashal
