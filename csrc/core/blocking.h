// Lets other Python threads run while a kernel works. The Python layer installs the callbacks.
#pragma once

namespace mashal {

struct BlockingHooks {
    void* (*enter)() noexcept = nullptr;
    void (*leave)(void* state) noexcept = nullptr;
};
extern BlockingHooks blocking_hooks;

// While it lives (and `when` was true) the interpreter lock is released: no reference counts of tensors may change.
class AllowThreads {
public:
    explicit AllowThreads(bool when) {
        if (when && blocking_hooks.enter != nullptr) state_ = blocking_hooks.enter();
    }
    ~AllowThreads() {
        if (state_ != nullptr) blocking_hooks.leave(state_);
    }
    AllowThreads(const AllowThreads&) = delete;
    AllowThreads& operator=(const AllowThreads&) = delete;

private:
    void* state_ = nullptr;
};

}  // namespace mashal
