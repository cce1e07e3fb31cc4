// Memory that several processes map. Anonymous files, passed by descriptor, vanish with their last user however it
// ends; named ones (/dev/shm) need no descriptor while they are mapped.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/storage.h"

namespace mashal {

// One mapping, unmapped when the last storage over it is gone.
class SharedMapping {
public:
    // New memory, zeroed and already there: a lack of it raises here instead of killing the process at first use.
    static std::shared_ptr<SharedMapping> create(size_t nbytes, bool named);
    // Memory of another process. A piece that this process has mapped already is not mapped again.
    static std::shared_ptr<SharedMapping> attach(int fd, size_t nbytes, bool keep_fd);
    static std::shared_ptr<SharedMapping> attach(const std::string& name, size_t nbytes);
    ~SharedMapping();

    char* data() const { return static_cast<char*>(base_) + (name_.empty() ? 0 : kHeader); }
    size_t nbytes() const { return nbytes_; }
    // -1 if the memory is named or the descriptor was not kept.
    int fd() const { return fd_; }
    void close_fd();
    const std::string& name() const { return name_; }
    // Named memory counts those who map it, and messages that are on their way: the last one removes the name.
    void count_message(int change);
    // Takes this process out of the counts of all names, because it is about to end without destroying its objects.
    static void forget_names();

private:
    static constexpr size_t kHeader = 64;
    SharedMapping() = default;
    void map(int fd, const char* op);
    void drop_name();

    void* base_ = nullptr;
    size_t nbytes_ = 0;
    int fd_ = -1;
    std::string name_;
    bool counted_ = false;     // this object is one of those that the header counts
    uint32_t generation_ = 0;  // of the process that was counted
};

// A storage over (the first `nbytes` of) a mapping.
Ref<Storage> shared_storage(std::shared_ptr<SharedMapping> mapping, size_t nbytes);
// The mapping behind a storage, or null.
std::shared_ptr<SharedMapping> shared_mapping(const Storage& storage);
// Whether other processes may see what is written to the storage.
bool is_shared(const Storage& storage);
// Moves the contents to shared memory that can be sent to other processes; all views move along.
void share_storage(Storage& storage, bool named);

// ---- lending: a loading process uses its blocks again when the receiver has dropped what lies in them ----

// The state of a block, one byte of shared memory per block.
enum class BlockState : unsigned char { Free = 0, Lent = 1, Retired = 2 };

struct Piece {
    size_t offset = 0;
    size_t nbytes = 0;
};
// Storages over pieces of a block. When the last of them dies, the block's byte in `states` says Free; or Retired, if
// this process has forked meanwhile, because then the child may still see the memory.
std::vector<Ref<Storage>> borrow_block(const std::shared_ptr<SharedMapping>& block,
                                       const std::shared_ptr<SharedMapping>& states, size_t index,
                                       const std::vector<Piece>& pieces);
BlockState block_state(const SharedMapping& states, size_t index);
void set_block_state(const SharedMapping& states, size_t index, BlockState state);

}  // namespace mashal
