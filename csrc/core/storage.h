// A block of memory that tensors view.
#pragma once
#include <atomic>
#include <cstddef>

#include "core/device.h"
#include "core/refcount.h"

namespace mashal {

// What a storage's elements are made from while nobody has asked for their address (cpu/layout.h).
class Deferred : public RefCounted {
public:
    // Writes the elements in the order that the tensors over the storage say. Must not need the interpreter lock.
    virtual void write(void* to) const = 0;
};

// Memory that a storage has left but that others (NumPy) may still hold the address of; freed with this object.
class FormerMemory {
public:
    using Release = void (*)(void* context) noexcept;

    FormerMemory() = default;
    FormerMemory(void* data, size_t nbytes, Release release, void* context)
        : data_(data), nbytes_(nbytes), release_(release), context_(context) {}
    FormerMemory(FormerMemory&& o) noexcept;
    FormerMemory& operator=(FormerMemory&& o) noexcept;
    ~FormerMemory();

private:
    void* data_ = nullptr;
    size_t nbytes_ = 0;
    Release release_ = nullptr;
    void* context_ = nullptr;
};

class Storage final : public RefCounted {
public:
    using Release = void (*)(void* context) noexcept;

    // Own memory from the allocator (none on the meta device).
    Storage(size_t nbytes, Device device);
    // Foreign memory (NumPy, DLPack, shared memory): `release(context)` when the last view is gone.
    Storage(void* data, size_t nbytes, Device device, Release release, void* context);
    // Memory that is written when its address is first asked for.
    Storage(size_t nbytes, Ref<Deferred> deferred);

    void* data() const {
        if (is_deferred()) [[unlikely]]
            settle();
        return data_;
    }
    bool is_deferred() const { return deferred_.load(std::memory_order_acquire) != nullptr; }
    // Null once the elements are written.
    Ref<Deferred> deferred() const;
    size_t nbytes() const { return nbytes_; }
    Device device() const { return device_; }
    bool is_foreign() const { return release_ != nullptr; }
    // Foreign memory cannot be resized, nor memory that others (NumPy, DLPack) hold the address of.
    bool resizable() const { return release_ == nullptr && !exported_; }
    void mark_exported() { exported_ = true; }
    // Somebody outside has been told the address, and may write without anyone noticing.
    void mark_addressed() {
        addressed_ = true;
        contents_changed();
    }
    // Whether all writes are noticed.
    bool is_private() const { return resizable() && !addressed_; }
    // The context of foreign memory of one kind, told by its `release`; null for memory of other kinds.
    void* foreign_context(Release release) const { return release_ == release ? context_ : nullptr; }
    // Now views foreign memory of the same size, to which the caller has copied the contents. Returns the old memory,
    // empty if nobody can need it any more.
    FormerMemory move_to(void* data, Release release, void* context);
    // Grows or shrinks, keeping the common prefix.
    void resize(size_t nbytes);

    // Something a kernel made from the contents and may use again while they stay the same (a reordered weight).
    Ref<RefCounted> prepared() const { return has_prepared_ ? find_prepared() : Ref<RefCounted>(); }
    void keep_prepared(Ref<RefCounted> made);
    // To be called when the contents have changed.
    void contents_changed() {
        if (has_prepared_) [[unlikely]]
            forget_prepared();
    }

    // Counts in-place writes, so that autograd notices that a saved tensor has changed.
    uint32_t version = 0;

private:
    bool has_prepared_ = false;

    ~Storage() override;
    void settle() const;
    Ref<RefCounted> find_prepared() const;
    void forget_prepared();

    mutable void* data_ = nullptr;
    mutable std::atomic<Deferred*> deferred_{nullptr};
    size_t nbytes_ = 0;
    Device device_;
    bool exported_ = false;
    bool addressed_ = false;
    Release release_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace mashal
