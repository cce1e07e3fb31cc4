// Mixed precision: inside `autocast`, a primitive with a cast policy gets its floating-point arguments in another type.
#pragma once
#include "dispatch/primitive.h"

namespace mashal {

// What autocast does to the arguments of an op (src/mashal/ops/_autocast.py says to which).
enum class CastPolicy : uint8_t {
    None,
    Lower,    // to the low-precision type of the region
    Float32,  // to float32
    Promote,  // to the widest type among them
    Exempt,   // as they are; but what the op is composed of is not cast either
};

constexpr int kDeviceTypes = 3;

struct AutocastState {
    bool any = false;  // enabled for some device: the one test of a call outside
    bool cache = true;
    int nesting = 0;
    bool enabled[kDeviceTypes] = {};
    DType dtype[kDeviceTypes] = {DType::BF16, DType::BF16, DType::F16};

    void enable(DeviceType device, bool on) {
        enabled[static_cast<int>(device)] = on;
        any = false;
        for (bool e : enabled) any |= e;
    }
};
// Of this thread.
AutocastState& autocast_state();

// The type that `policy` asks for, for the tensors of one call; nothing if none of them is on a device of the region.
class Autocast {
public:
    explicit Autocast(CastPolicy policy) : policy_(policy) {}
    // First every tensor of the call is shown, then each may be cast.
    void see(const Tensor& t);
    Tensor cast(const Tensor& t) const;

private:
    bool eligible(const Tensor& t) const;
    CastPolicy policy_;
    bool found_ = false;
    DeviceType device_ = DeviceType::CPU;
    DType to_ = DType::F32;
};

// Casts the tensors among the arguments of a call.
void autocast_arguments(Call& call, CastPolicy policy);
// Forgets the cast weights. Casts of leaves that need gradients are kept until the outermost region ends, so that each
// is cast, and its gradient brought back, once.
void clear_autocast_cache();

// Autocast off in this thread, for what a cast op is composed of.
class AutocastOff {
public:
    AutocastOff() : before_(autocast_state()) {
        for (bool& e : autocast_state().enabled) e = false;
        autocast_state().any = false;
    }
    ~AutocastOff() {
        AutocastState& state = autocast_state();
        for (int i = 0; i < kDeviceTypes; i++) state.enabled[i] = before_.enabled[i];
        state.any = before_.any;
    }
    AutocastOff(const AutocastOff&) = delete;
    AutocastOff& operator=(const AutocastOff&) = delete;

private:
    AutocastState before_;
};

}  // namespace mashal
