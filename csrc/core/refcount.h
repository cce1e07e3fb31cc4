// Intrusive reference counting that can be handed over to a foreign owner (Python) once an object is seen there.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace mashal {

// Callbacks that the Python layer installs at start-up: how to count references of an object whose owner is a Python
// object. The core calls them blindly; it knows no Python.
struct ForeignOwnerHooks {
    void (*inc_ref)(void* owner) noexcept = nullptr;
    void (*dec_ref)(void* owner) noexcept = nullptr;
    uint32_t (*count)(void* owner) noexcept = nullptr;
};
extern ForeignOwnerHooks foreign_owner_hooks;

// While `owner_` is null the count lives in `count_`. After `set_owner`, references are those of the foreign object,
// so that the C++ object and its Python face live and die together and identity is preserved.
class RefCounted {
public:
    RefCounted() = default;
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;

    void inc_ref() const noexcept {
        void* owner = owner_.load(std::memory_order_acquire);
        if (owner == nullptr) {
            count_.fetch_add(1, std::memory_order_relaxed);
        } else {
            foreign_owner_hooks.inc_ref(owner);
        }
    }
    void dec_ref() const noexcept {
        void* owner = owner_.load(std::memory_order_acquire);
        if (owner != nullptr) {
            foreign_owner_hooks.dec_ref(owner);
        } else if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            const_cast<RefCounted*>(this)->destroy();
        }
    }
    uint32_t use_count() const noexcept { return count_.load(std::memory_order_relaxed); }

    void* owner() const noexcept { return owner_.load(std::memory_order_acquire); }
    // Hands all present references over: the caller must transfer `use_count()` references to the owner.
    void set_owner(void* owner) noexcept { owner_.store(owner, std::memory_order_release); }
    // Called by the owner as it dies: no reference is left.
    void owner_died() noexcept {
        owner_.store(nullptr, std::memory_order_release);
        count_.store(0, std::memory_order_relaxed);
        destroy();
    }

protected:
    virtual ~RefCounted() = default;
    // How the last reference ends the object; nodes override it to free deep graphs without recursion.
    virtual void destroy() { delete this; }

private:
    mutable std::atomic<uint32_t> count_{0};
    std::atomic<void*> owner_{nullptr};
};

template <class T>
class Ref {
public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T* p) : p_(p) {
        if (p_) p_->inc_ref();
    }
    Ref(const Ref& o) : p_(o.p_) {
        if (p_) p_->inc_ref();
    }
    Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    template <class U>
        requires std::is_convertible_v<U*, T*>
    Ref(const Ref<U>& o) : Ref(static_cast<T*>(o.get())) {}
    template <class U>
        requires std::is_convertible_v<U*, T*>
    Ref(Ref<U>&& o) noexcept : p_(o.release()) {}
    Ref& operator=(Ref o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~Ref() {
        if (p_) p_->dec_ref();
    }
    T* get() const { return p_; }
    T* operator->() const { return p_; }
    T& operator*() const { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }
    bool operator==(const Ref& o) const { return p_ == o.p_; }
    // Gives the reference away without counting down.
    T* release() { return std::exchange(p_, nullptr); }
    static Ref steal(T* p) {
        Ref r;
        r.p_ = p;
        return r;
    }

private:
    T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
    return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace mashal
