#include "core/storage.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/allocator.h"
#include "core/blocking.h"
#include "core/errors.h"

namespace mashal {

ForeignOwnerHooks foreign_owner_hooks;
BlockingHooks blocking_hooks;

namespace {
// PyTorch's words and class for a build without CUDA.
Device present(Device d) {
    MASHAL_CHECK_AS(Assertion, d.type != DeviceType::CUDA, "", "Torch not compiled with CUDA enabled");
    return d;
}
}  // namespace

Storage::Storage(size_t nbytes, Device device)
    : data_(present(device).is_meta() ? nullptr : cpu_allocate(nbytes)), nbytes_(nbytes), device_(device) {}

Storage::Storage(void* data, size_t nbytes, Device device, Release release, void* context)
    : data_(data), nbytes_(nbytes), device_(device), release_(release), context_(context) {}

Storage::Storage(size_t nbytes, Ref<Deferred> deferred) : deferred_(deferred.release()), nbytes_(nbytes) {}

namespace {
// One for all storages: it is held for a reordering at most, and hardly ever wanted by two threads.
std::mutex& settle_mutex() {
    static std::mutex* mutex = new std::mutex;  // never destroyed: tensors may outlive static destruction
    return *mutex;
}
}  // namespace

Ref<Deferred> Storage::deferred() const {
    std::lock_guard lock(settle_mutex());
    return Ref<Deferred>(deferred_.load(std::memory_order_relaxed));
}

// Threads that already compute on the deferred memory hold it themselves; it dies with the last of them.
void Storage::settle() const {
    std::lock_guard lock(settle_mutex());
    Ref<Deferred> source(deferred_.load(std::memory_order_relaxed));
    if (!source) return;
    void* fresh = cpu_allocate(nbytes_);
    source->write(fresh);
    data_ = fresh;
    deferred_.store(nullptr, std::memory_order_release);
    source->dec_ref();  // the storage's own
}

namespace {
struct PreparedTable {
    std::mutex mutex;
    std::unordered_map<const Storage*, Ref<RefCounted>> made;
};
PreparedTable& prepared_table() {
    static auto* table = new PreparedTable;
    return *table;
}
}  // namespace

Ref<RefCounted> Storage::find_prepared() const {
    std::lock_guard lock(prepared_table().mutex);
    const auto it = prepared_table().made.find(this);
    return it == prepared_table().made.end() ? Ref<RefCounted>() : it->second;
}

void Storage::keep_prepared(Ref<RefCounted> made) {
    std::lock_guard lock(prepared_table().mutex);
    prepared_table().made[this] = std::move(made);
    has_prepared_ = true;
}

void Storage::forget_prepared() {
    std::lock_guard lock(prepared_table().mutex);
    prepared_table().made.erase(this);
    has_prepared_ = false;
}

Storage::~Storage() {
    contents_changed();
    if (Deferred* d = deferred_.load(std::memory_order_relaxed)) d->dec_ref();
    if (release_ != nullptr)
        release_(context_);
    else
        cpu_free(data_, nbytes_);
}

FormerMemory::FormerMemory(FormerMemory&& o) noexcept { *this = std::move(o); }
FormerMemory& FormerMemory::operator=(FormerMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(nbytes_, o.nbytes_);
    std::swap(release_, o.release_);
    std::swap(context_, o.context_);
    return *this;
}
FormerMemory::~FormerMemory() {
    if (release_ != nullptr)
        release_(context_);
    else
        cpu_free(data_, nbytes_);
}

FormerMemory Storage::move_to(void* data, Release release, void* context) {
    FormerMemory old(std::exchange(data_, data), nbytes_, std::exchange(release_, release),
                     std::exchange(context_, context));
    return exported_ ? std::move(old) : FormerMemory();
}

void Storage::resize(size_t nbytes) {
    MASHAL_CHECK(resizable(), "resize_",
                 "Trying to resize storage that is not resizable: its memory belongs to, or is ",
                 "shared with, another library. Use clone() first.");
    if (!device_.is_meta()) {
        data();
        void* fresh = cpu_allocate(nbytes);
        if (size_t common = std::min(nbytes, nbytes_)) std::memcpy(fresh, data_, common);
        cpu_free(data_, nbytes_);
        data_ = fresh;
    }
    nbytes_ = nbytes;
}

}  // namespace mashal
