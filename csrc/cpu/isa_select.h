// Which of the compiled instruction sets this process uses, and how a kernel picks its copy of a loop.
//
// A loop lives in csrc/cpu/isa/*.cpp inside `namespace mashal::MASHAL_ISA`; its declaration is wrapped in
// MASHAL_FOR_EACH_ISA, and a caller writes MASHAL_SELECT(name).
#pragma once

namespace mashal {

enum class Isa { Baseline, Avx2, Avx512 };

// The widest set this processor has; the environment variable MASHAL_ISA (baseline, avx2, avx512) may lower it.
Isa selected_isa();

template <class F>
F* select_isa(F* baseline, F* avx2, F* avx512) {
    switch (selected_isa()) {
        case Isa::Avx512: return avx512;
        case Isa::Avx2: return avx2;
        default: return baseline;
    }
}

}  // namespace mashal

#if defined(MASHAL_X86_64)
#define MASHAL_FOR_EACH_ISA(...) \
    namespace baseline {         \
    __VA_ARGS__                  \
    }                            \
    namespace avx2 {             \
    __VA_ARGS__                  \
    }                            \
    namespace avx512 {           \
    __VA_ARGS__                  \
    }
#define MASHAL_SELECT(name) \
    ::mashal::select_isa(&::mashal::baseline::name, &::mashal::avx2::name, &::mashal::avx512::name)
#else
#define MASHAL_FOR_EACH_ISA(...) \
    namespace baseline {         \
    __VA_ARGS__                  \
    }
#define MASHAL_SELECT(name) (&::mashal::baseline::name)
#endif
