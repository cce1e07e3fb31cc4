// What kernels keep beside a storage between calls: see Storage::prepared.
#pragma once
#include "core/storage.h"

namespace mashal {

// What is kept, if it is a T that `fits`; else what `make` gives, which is kept from now on.
template <class T, class Fits, class Make>
Ref<T> prepared_or_made(Storage& storage, Fits&& fits, Make&& make) {
    if (const Ref<RefCounted> found = storage.prepared())
        if (auto* kept = dynamic_cast<T*>(found.get()); kept != nullptr && fits(*kept)) return Ref<T>(kept);
    Ref<T> made = make();
    storage.keep_prepared(made);
    return made;
}

}  // namespace mashal
