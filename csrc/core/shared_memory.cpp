#include "core/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "core/allocator.h"
#include "core/errors.h"
#include "core/fork.h"

namespace mashal {

namespace {

#ifdef MAP_POPULATE
constexpr int kMapFlags = MAP_SHARED | MAP_POPULATE;  // all at once instead of a page fault per page
#else
constexpr int kMapFlags = MAP_SHARED;
#endif

[[noreturn]] void no_shared_memory(size_t nbytes, int error) {
    const char* repair = error == EMFILE || error == ENFILE
                             ? "Too many files are open: raise the limit (ulimit -n), or call "
                               "torch.multiprocessing.set_sharing_strategy('file_system') first."
                             : "Free or raise the limit of shared memory (/dev/shm, docker's --shm-size, a memory "
                               "limit), or lower num_workers, prefetch_factor or batch_size.";
    raise_error(ErrorKind::Runtime, "", "unable to allocate shared memory(shm) of ", nbytes,
                " bytes: ", std::strerror(error), " (", error, "). ", repair);
}

std::string random_name() {
    std::random_device device;
    char text[64];
    std::snprintf(text, sizeof text, "/mashal_%d_%08x%08x", static_cast<int>(getpid()), device(), device());
    return text;
}

int open_anonymous() {
#ifdef SYS_memfd_create
    int fd = static_cast<int>(syscall(SYS_memfd_create, "mashal", 1u /* close on exec */));
    if (fd >= 0 || errno == EMFILE || errno == ENFILE) return fd;
#endif
    // A sandbox without that call: a file whose name is gone before anybody sees it.
    std::string name = random_name();
    int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0) shm_unlink(name.c_str());
    return file;
}

// Gives the file its memory; the error number, or 0.
int reserve(int fd, size_t nbytes) {
#ifdef __linux__
    int status;
    do status = posix_fallocate(fd, 0, static_cast<off_t>(nbytes));
    while (status == EINTR);
    return status;
#else
    return ftruncate(fd, static_cast<off_t>(nbytes)) == 0 ? 0 : errno;
#endif
}

// What this process has mapped from descriptors, so that two messages about one memory give one address.
struct Registry {
    using Key = std::pair<dev_t, ino_t>;
    std::mutex mutex;
    std::map<Key, std::weak_ptr<SharedMapping>> mappings;

    std::shared_ptr<SharedMapping> find(const Key& key) {
        std::lock_guard lock(mutex);
        auto it = mappings.find(key);
        return it == mappings.end() ? nullptr : it->second.lock();
    }
    void add(const Key& key, const std::shared_ptr<SharedMapping>& mapping) {
        std::lock_guard lock(mutex);
        if (mappings.size() >= limit) {
            std::erase_if(mappings, [](const auto& entry) { return entry.second.expired(); });
            limit = std::max<size_t>(128, 2 * mappings.size());
        }
        mappings[key] = mapping;
    }
    size_t limit = 128;
};
Registry& registry() {
    static Registry* r = [] {
        auto* fresh = new Registry;
        hold_across_fork(fresh->mutex, ForkRank::Allocator);
        return fresh;
    }();
    return *r;
}

// The named mappings of this process.
struct Names {
    std::mutex mutex;
    std::set<SharedMapping*> live;

    void add(SharedMapping* m) {
        std::lock_guard lock(mutex);
        live.insert(m);
    }
    void remove(SharedMapping* m) {
        std::lock_guard lock(mutex);
        live.erase(m);
    }
};
Names& names() {
    static Names* n = [] {
        auto* fresh = new Names;
        hold_across_fork(fresh->mutex, ForkRank::Allocator);
        return fresh;
    }();
    return *n;
}

struct CloseFd {
    int fd;
    ~CloseFd() {
        if (fd >= 0) close(fd);
    }
};

std::atomic<int>& header_count(void* base) { return *static_cast<std::atomic<int>*>(base); }

}  // namespace

void SharedMapping::map(int fd, const char* op) {
    size_t length = std::max<size_t>(nbytes_, 1) + (name_.empty() ? 0 : kHeader);
    void* p = mmap(nullptr, length, PROT_READ | PROT_WRITE, kMapFlags, fd, 0);
    MASHAL_CHECK(p != MAP_FAILED, op, "cannot map ", length, " bytes of shared memory: ", std::strerror(errno), " (",
                 errno, ")");
    base_ = p;
    generation_ = process_generation();
}

std::shared_ptr<SharedMapping> SharedMapping::create(size_t nbytes, bool named) {
    std::shared_ptr<SharedMapping> m(new SharedMapping);
    m->nbytes_ = nbytes;
    size_t length = std::max<size_t>(nbytes, 1) + (named ? kHeader : 0);
    if (length < nbytes || length > (size_t{1} << 48)) no_shared_memory(nbytes, ENOMEM);
    std::string name;
    CloseFd file{-1};
    if (named) {
        name = random_name();
        file.fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    } else {
        file.fd = open_anonymous();
    }
    if (file.fd < 0) no_shared_memory(nbytes, errno);
    if (int error = reserve(file.fd, length)) {
        if (named) shm_unlink(name.c_str());
        no_shared_memory(nbytes, error);
    }
    m->name_ = std::move(name);
    m->map(file.fd, "share_memory_");
    if (named) {
        header_count(m->base_).store(1);
        m->counted_ = true;
        names().add(m.get());
    } else {
        struct stat info;
        if (fstat(file.fd, &info) == 0) registry().add({info.st_dev, info.st_ino}, m);
        m->fd_ = std::exchange(file.fd, -1);
    }
    return m;
}

std::shared_ptr<SharedMapping> SharedMapping::attach(int fd, size_t nbytes, bool keep_fd) {
    struct stat info;
    MASHAL_CHECK(fstat(fd, &info) == 0, "shared memory", "the descriptor ", fd, " is not open");
    MASHAL_CHECK(static_cast<size_t>(info.st_size) >= nbytes, "shared memory", "the file has ", info.st_size,
                 " bytes, fewer than the ", nbytes, " of the storage");
    Registry::Key key{info.st_dev, info.st_ino};
    if (auto known = registry().find(key); known && known->nbytes_ == nbytes) return known;
    std::shared_ptr<SharedMapping> m(new SharedMapping);
    m->nbytes_ = nbytes;
    m->map(fd, "shared memory");
    if (keep_fd) {
        m->fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (m->fd_ < 0) no_shared_memory(nbytes, errno);
    }
    registry().add(key, m);
    return m;
}

std::shared_ptr<SharedMapping> SharedMapping::attach(const std::string& name, size_t nbytes) {
    CloseFd file{shm_open(name.c_str(), O_RDWR, 0)};
    MASHAL_CHECK(file.fd >= 0, "", "unable to open shared memory object <", name,
                 "> in read-write mode: ", std::strerror(errno), " (", errno, ")");
    struct stat info;
    MASHAL_CHECK(fstat(file.fd, &info) == 0 && static_cast<size_t>(info.st_size) >= nbytes + kHeader, "shared memory",
                 "the file ", name, " is smaller than the storage");
    std::shared_ptr<SharedMapping> m(new SharedMapping);
    m->nbytes_ = nbytes;
    m->name_ = name;
    m->map(file.fd, "shared memory");
    header_count(m->base_).fetch_add(1);
    m->counted_ = true;
    names().add(m.get());
    return m;
}

void SharedMapping::count_message(int change) {
    if (name_.empty()) return;
    if (generation_ != process_generation()) {
        // Inherited by fork and so far not counted: from now on this process is one of the owners.
        header_count(base_).fetch_add(1);
        generation_ = process_generation();
        counted_ = true;
    }
    header_count(base_).fetch_add(change);
}

void SharedMapping::drop_name() {
    if (std::exchange(counted_, false) && generation_ == process_generation() && header_count(base_).fetch_sub(1) == 1)
        shm_unlink(name_.c_str());
}

void SharedMapping::forget_names() {
    std::lock_guard lock(names().mutex);
    for (SharedMapping* m : names().live) m->drop_name();
}

void SharedMapping::close_fd() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
}

SharedMapping::~SharedMapping() {
    close_fd();
    if (base_ == nullptr) return;
    if (!name_.empty()) {
        names().remove(this);
        drop_name();
    }
    munmap(base_, std::max<size_t>(nbytes_, 1) + (name_.empty() ? 0 : kHeader));
}

// ---- storages ----

namespace {

// A block that another process lent to this one.
struct Loan {
    std::shared_ptr<SharedMapping> block, states;
    size_t index;
    uint32_t forks = fork_count(), generation = process_generation();

    Loan(std::shared_ptr<SharedMapping> b, std::shared_ptr<SharedMapping> s, size_t i)
        : block(std::move(b)), states(std::move(s)), index(i) {}
    Loan(const Loan&) = delete;
    ~Loan() {
        if (generation != process_generation()) return;  // a copy made by fork: not ours to return
        set_block_state(*states, index, forks == fork_count() ? BlockState::Free : BlockState::Retired);
    }
};

struct Context {
    std::shared_ptr<SharedMapping> mapping;
    std::shared_ptr<Loan> loan;
    FormerMemory former;
};
void release_shared(void* context) noexcept { delete static_cast<Context*>(context); }

Context* context_of(const Storage& s) { return static_cast<Context*>(s.foreign_context(release_shared)); }

}  // namespace

Ref<Storage> shared_storage(std::shared_ptr<SharedMapping> mapping, size_t nbytes) {
    char* data = mapping->data();
    return make_ref<Storage>(data, nbytes, Device{}, release_shared, new Context{std::move(mapping), nullptr, {}});
}

std::shared_ptr<SharedMapping> shared_mapping(const Storage& storage) {
    Context* c = context_of(storage);
    return c ? c->mapping : nullptr;
}

bool is_shared(const Storage& storage) { return context_of(storage) != nullptr; }

void share_storage(Storage& storage, bool named) {
    MASHAL_CHECK(storage.device().is_cpu(), "share_memory_", "only memory of the CPU can be shared");
    Context* old = context_of(storage);
    // Borrowed memory goes back to its owner, and a mapping without descriptor cannot be sent.
    if (old && !old->loan && (old->mapping->fd() >= 0 || !old->mapping->name().empty())) return;
    auto mapping = SharedMapping::create(storage.nbytes(), named);
    if (storage.nbytes() > 0) std::memcpy(mapping->data(), storage.data(), storage.nbytes());
    auto context = std::make_unique<Context>();
    char* data = mapping->data();
    context->mapping = std::move(mapping);
    Context* fresh = context.release();
    fresh->former = storage.move_to(data, release_shared, fresh);
}

std::vector<Ref<Storage>> borrow_block(const std::shared_ptr<SharedMapping>& block,
                                       const std::shared_ptr<SharedMapping>& states, size_t index,
                                       const std::vector<Piece>& pieces) {
    auto loan = std::make_shared<Loan>(block, states, index);
    std::vector<Ref<Storage>> out;
    for (const Piece& piece : pieces) {
        MASHAL_CHECK(piece.offset <= block->nbytes() && piece.nbytes <= block->nbytes() - piece.offset, "shared memory",
                     "a piece of ", piece.nbytes, " bytes at ", piece.offset, " lies outside its block of ",
                     block->nbytes());
        out.push_back(make_ref<Storage>(block->data() + piece.offset, piece.nbytes, Device{}, release_shared,
                                        new Context{block, loan, {}}));
    }
    return out;
}

namespace {
std::atomic<unsigned char>& state_byte(const SharedMapping& states, size_t index) {
    MASHAL_CHECK_AS(Index, index < states.nbytes(), "shared memory", "block ", index, " has no state");
    return reinterpret_cast<std::atomic<unsigned char>*>(states.data())[index];
}
}  // namespace

BlockState block_state(const SharedMapping& states, size_t index) {
    return static_cast<BlockState>(state_byte(states, index).load(std::memory_order_acquire));
}
void set_block_state(const SharedMapping& states, size_t index, BlockState state) {
    state_byte(states, index).store(static_cast<unsigned char>(state), std::memory_order_release);
}

}  // namespace mashal
