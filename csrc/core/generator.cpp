#include "core/generator.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/errors.h"
#include "core/fork.h"
#include "core/vector_target.h"

namespace mashal {
namespace {

constexpr int kSize = Mt19937::kStateSize;
constexpr int kShift = 397;

MASHAL_INLINE_LOOP uint32_t twist(uint32_t u, uint32_t v) {
    const uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
    return (mixed >> 1) ^ (-(v & 1u) & 0x9908b0dfu);
}

// In place: words ahead are still old and words kSize - kShift behind are already new, which is what the recurrence
// asks for; both distances exceed any vector length.
struct Regenerate {
    MASHAL_INLINE_LOOP void operator()(uint32_t* s) const {
        for (int i = 0; i < kSize - kShift; ++i) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
        for (int i = kSize - kShift; i < kSize - 1; ++i) s[i] = s[i + kShift - kSize] ^ twist(s[i], s[i + 1]);
        s[kSize - 1] = s[kShift - 1] ^ twist(s[kSize - 1], s[0]);
    }
};

struct Temper {
    MASHAL_INLINE_LOOP void operator()(const uint32_t* __restrict in, uint32_t* __restrict out, int64_t n) const {
        for (int64_t i = 0; i < n; ++i) {
            uint32_t y = in[i];
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c5680u;
            y ^= (y << 15) & 0xefc60000u;
            out[i] = y ^ (y >> 18);
        }
    }
};

// The saved form. Fields that the generator does not use any more are kept (as zeros) because the layout is public.
struct SavedState {
    uint64_t seed;
    int32_t left;
    int32_t seeded;
    uint64_t next;
    uint64_t words[kSize];
    double unused_x;
    double normal;
    double unused_rho;
    int32_t has_normal;
    int32_t padding;
    float float_normal;
    bool has_float_normal;
};
static_assert(sizeof(SavedState) == Generator::kStateBytes);

uint64_t seed_from_system() {
    std::random_device device;
    const uint64_t high = device();
    return high << 32 | device();
}

}  // namespace

Mt19937::Mt19937(uint64_t seed_value) : seed(seed_value) {
    state[0] = static_cast<uint32_t>(seed_value);
    for (uint32_t i = 1; i < kSize; ++i) state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
}

void Mt19937::regenerate() {
    run_vectorised(Regenerate{}, state.data());
    left = kSize;
    next = 0;
}

void Mt19937::fill(uint32_t* out, int64_t n) {
    while (n > 0) {
        if (left == 1) {
            regenerate();
            ++left;  // a single call counts the word it takes before it regenerates
        }
        const int64_t count = std::min<int64_t>(n, left - 1);
        run_vectorised(Temper{}, static_cast<const uint32_t*>(state.data() + next), out, count);
        next += static_cast<uint32_t>(count);
        left -= static_cast<int32_t>(count);
        out += count;
        n -= count;
    }
}

void Generator::manual_seed(uint64_t seed) {
    engine_ = Mt19937(seed);
    next_double_normal.reset();
    next_float_normal.reset();
}

uint64_t Generator::seed() {
    const uint64_t value = seed_from_system();
    manual_seed(value);
    return value;
}

std::array<std::byte, Generator::kStateBytes> Generator::get_state() const {
    SavedState saved;
    std::memset(&saved, 0, sizeof saved);
    saved.seed = engine_.seed;
    saved.left = engine_.left;
    saved.seeded = 1;
    saved.next = engine_.next;
    std::copy(engine_.state.begin(), engine_.state.end(), saved.words);
    saved.has_normal = next_double_normal.has_value();
    saved.normal = next_double_normal.value_or(0.0);
    saved.has_float_normal = next_float_normal.has_value();
    saved.float_normal = next_float_normal.value_or(0.0f);
    std::array<std::byte, kStateBytes> bytes;
    std::memcpy(bytes.data(), &saved, kStateBytes);
    return bytes;
}

void Generator::set_state(std::span<const std::byte> bytes) {
    MASHAL_CHECK(bytes.size() == kStateBytes, "set_state", "new_state must have ", kStateBytes, " bytes, got ",
                 bytes.size(), ". Pass what get_state() returned.");
    SavedState saved;
    // The flag byte is tested before it becomes a bool: any value may come from a file.
    std::memcpy(&saved, bytes.data(), offsetof(SavedState, has_float_normal));
    const bool has_float_normal = bytes[offsetof(SavedState, has_float_normal)] != std::byte{0};
    const bool counters_fit = saved.left > 0 && saved.left <= kSize && saved.next <= kSize &&
                              saved.next + static_cast<uint64_t>(saved.left) - 1 <= kSize;
    MASHAL_CHECK(saved.seeded == 1 && counters_fit, "set_state",
                 "new_state must be a valid mt19937 state, got left=", saved.left, ", next=", saved.next,
                 ", seeded=", saved.seeded, ". Pass what get_state() returned.");
    engine_.seed = saved.seed;
    engine_.left = saved.left;
    engine_.next = static_cast<uint32_t>(saved.next);
    std::transform(saved.words, saved.words + kSize, engine_.state.begin(),
                   [](uint64_t word) { return static_cast<uint32_t>(word); });
    next_double_normal = saved.has_normal ? std::optional(saved.normal) : std::nullopt;
    next_float_normal = has_float_normal ? std::optional(saved.float_normal) : std::nullopt;
}

Ref<Generator> Generator::clone() const {
    Ref<Generator> copy = make_ref<Generator>();
    copy->engine_ = engine_;
    copy->next_double_normal = next_double_normal;
    copy->next_float_normal = next_float_normal;
    return copy;
}

namespace {
thread_local Ref<Generator> t_generator;
}  // namespace

const Ref<Generator>& default_generator() {
    static const Ref<Generator>* generator = [] {
        auto* fresh = new Ref<Generator>(make_ref<Generator>(seed_from_system()));
        hold_across_fork((*fresh)->mutex, ForkRank::Generator);
        return fresh;
    }();
    return t_generator ? t_generator : *generator;
}

void set_thread_generator(Ref<Generator> generator) { t_generator = std::move(generator); }

}  // namespace mashal
