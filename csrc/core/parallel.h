// Parallel loops over OpenMP, which oneDNN shares.
#pragma once
#include <cstdint>
#include <exception>
#include <utility>

namespace mashal {

int num_threads();
void set_num_threads(int n);
bool in_parallel();
// From now on the calling thread does all its work alone: for threads that are themselves one of many.
void keep_thread_serial();
// Elements of simple work below which a second thread does not pay.
constexpr int64_t kGrain = 32768;

void parallel_run(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context);

// Calls f(b, e) on disjoint parts of [begin, end), each (but the last) of at least `grain`. Exceptions reach the
// caller.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
    if (begin >= end) return;
    if (end - begin <= grain || num_threads() == 1 || in_parallel()) {
        f(begin, end);
        return;
    }
    parallel_run(
        begin, end, grain, [](void* c, int64_t b, int64_t e) { (*static_cast<std::remove_reference_t<F>*>(c))(b, e); },
        const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace mashal
