#include "core/storage.h"

#include <algorithm>
#include <cstring>
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

Storage::~Storage() {
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
        void* fresh = cpu_allocate(nbytes);
        if (size_t common = std::min(nbytes, nbytes_)) std::memcpy(fresh, data_, common);
        cpu_free(data_, nbytes_);
        data_ = fresh;
    }
    nbytes_ = nbytes;
}

}  // namespace mashal
