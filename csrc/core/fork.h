// What survives fork(): locks that are free in the child, and a count by which objects tell on which side they were
// made.
#pragma once
#include <cstdint>
#include <mutex>

namespace mashal {

// The order in which locks are taken before a fork: a thread may hold one of these and want a later one.
enum class ForkRank { Blas, Generator, PrimitiveCache, Allocator, Count };

// No other thread holds `mutex` while this process forks, so that the child finds it free. Once per mutex, which must
// live for ever.
void hold_across_fork(std::mutex& mutex, ForkRank rank);

// Forks since the process began, including those that its ancestors did before it.
uint32_t fork_count();
// Changes only in the child of a fork.
uint32_t process_generation();

}  // namespace mashal
