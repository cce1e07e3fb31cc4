#include "core/storage.h"

#include <algorithm>
#include <cstring>

#include "core/allocator.h"
#include "core/blocking.h"
#include "core/errors.h"

namespace mashal {

ForeignOwnerHooks foreign_owner_hooks;
BlockingHooks blocking_hooks;

Storage::Storage(size_t nbytes, Device device)
    : data_(device.is_meta() ? nullptr : cpu_allocate(nbytes)), nbytes_(nbytes), device_(device) {}

Storage::Storage(void* data, size_t nbytes, Device device, Release release, void* context)
    : data_(data), nbytes_(nbytes), device_(device), release_(release), context_(context) {}

Storage::~Storage() {
    if (release_ != nullptr)
        release_(context_);
    else
        cpu_free(data_, nbytes_);
}

void Storage::resize(size_t nbytes) {
    MASHAL_CHECK(release_ == nullptr, "resize_", "cannot resize memory that mashal does not own");
    if (!device_.is_meta()) {
        void* fresh = cpu_allocate(nbytes);
        if (size_t common = std::min(nbytes, nbytes_)) std::memcpy(fresh, data_, common);
        cpu_free(data_, nbytes_);
        data_ = fresh;
    }
    nbytes_ = nbytes;
}

}  // namespace mashal
