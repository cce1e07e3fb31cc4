// How an op takes a call with opaque arguments (cpu/layout.h) into its own hands.
#pragma once
#include "dispatch/primitive.h"

namespace mashal {

// Fills in the results, or returns false and leaves the call as it was.
using OpaqueFn = bool (*)(Call&);
struct OpaqueRegistration {
    OpaqueRegistration(const char* name, OpaqueFn f);
};

}  // namespace mashal
