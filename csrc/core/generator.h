// Random bits on the CPU: the Mersenne Twister, seeded, stepped and serialised as PyTorch's CPU generator does, so that
// a seed or a saved state gives the same stream in both.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "core/refcount.h"

namespace mashal {

// MT19937 (Matsumoto and Nishimura, 1998; initialisation of 2002). `left` counts the words until the next regeneration
// plus one and `next` is the index of the next word: redundant, but both are part of the saved state.
struct Mt19937 {
    static constexpr int kStateSize = 624;

    uint64_t seed = 0;
    int32_t left = 1;
    uint32_t next = 0;
    std::array<uint32_t, kStateSize> state;

    explicit Mt19937(uint64_t seed);
    // The next tempered word.
    uint32_t operator()() {
        if (--left == 0) regenerate();
        uint32_t y = state[next++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        return y ^ (y >> 18);
    }
    // The same as n single calls, vectorised.
    void fill(uint32_t* out, int64_t n);

private:
    void regenerate();
};

// One stream of random numbers. Every function that draws expects the caller to hold `mutex` for as long as its numbers
// must stay consecutive; the fills of csrc/cpu/random.h take it themselves.
class Generator : public RefCounted {
public:
    // The seed of a generator that nobody seeded (PyTorch's default_rng_seed_val).
    static constexpr uint64_t kDefaultSeed = 67280421310721;
    static constexpr size_t kStateBytes = 5056;

    explicit Generator(uint64_t seed = kDefaultSeed) : engine_(seed) {}

    mutable std::mutex mutex;

    // Restarts the stream and forgets cached normal samples.
    void manual_seed(uint64_t seed);
    // Restarts the stream from a seed taken from the operating system, and returns that seed.
    uint64_t seed();
    uint64_t initial_seed() const { return engine_.seed; }

    uint32_t random() { return engine_(); }
    // Two words, the first one in the upper half.
    uint64_t random64() {
        const uint64_t high = engine_();
        return high << 32 | engine_();
    }
    void random_words(uint32_t* out, int64_t n) { engine_.fill(out, n); }

    // The second value of the last Box-Muller pair that was drawn one value at a time.
    std::optional<double> next_double_normal;
    std::optional<float> next_float_normal;

    // PyTorch's `torch.get_rng_state()` byte for byte (little endian). `set_state` refuses states of another size and
    // states whose counters would read outside the table.
    std::array<std::byte, kStateBytes> get_state() const;
    void set_state(std::span<const std::byte> state);

    Ref<Generator> clone() const;

private:
    Mt19937 engine_;
};

// The generator used when none is given. Seeded from the operating system, as PyTorch's is; never destroyed, so that
// threads may draw during shutdown.
const Ref<Generator>& default_generator();
// Gives the calling thread a default generator of its own.
void set_thread_generator(Ref<Generator> generator);

}  // namespace mashal
