// What a profiler sees of a thread: nested ranges of time with a name, for ops, backward nodes and the user's own.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/refcount.h"
#include "core/small_vec.h"
#include "core/tensor.h"

namespace mashal {

struct Call;
struct Node;

struct ProfileEvent {
    enum class Kind : uint8_t { Op, Backward, User };

    std::string name;
    Kind kind = Kind::Op;
    int32_t parent = -1;    // index of the enclosing event
    int64_t start = 0;      // nanoseconds since the epoch
    int64_t end = -1;       // -1: still open
    int64_t memory = 0;     // bytes allocated minus bytes freed between both
    uint64_t sequence = 0;  // of the node that a forward op made, or that runs; 0: none
    bool has_shapes = false;
    std::vector<IntVec> shapes;       // per argument; empty for what is no tensor
    std::vector<const char*> dtypes;  // per argument; "" for what is no tensor
    Ref<RefCounted> stack;            // the caller's lines
};

// Where the calling line is; installed by the foreign layer.
extern Ref<RefCounted> (*capture_profile_stack)();

struct Profile {
    bool shapes = false, memory = false, stack = false;
    std::vector<ProfileEvent> events;
    int32_t open = -1;  // innermost event that has not ended

    // Opens an event; its number goes to `end`.
    int32_t begin(ProfileEvent::Kind kind, std::string_view name);
    void end(int32_t event);
};

// The profile that this thread writes; null when there is none.
extern constinit thread_local Profile* g_profile;
inline bool profiling() { return g_profile != nullptr; }

// The range of an op's call or of a node's run. Survives a profiler that is stopped inside.
class ProfileRange {
public:
    explicit ProfileRange(const Call& call);
    explicit ProfileRange(const Node& node);
    // The op's result, whose node tells the sequence number.
    void result(const Call& call);
    ~ProfileRange();
    ProfileRange(const ProfileRange&) = delete;
    ProfileRange& operator=(const ProfileRange&) = delete;

private:
    Profile* profile_;
    int32_t outer_ = -1;  // the engine's own range around a node's
    int32_t event_;
};

}  // namespace mashal
