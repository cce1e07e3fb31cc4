#include "dispatch/profile.h"

#include <chrono>

#include "autograd/node.h"
#include "core/allocator.h"
#include "dispatch/primitive.h"

namespace mashal {

constinit thread_local Profile* g_profile = nullptr;
Ref<RefCounted> (*capture_profile_stack)() = nullptr;

namespace {

// Steady, but counted from the epoch, so that traces of several processes can be laid side by side.
int64_t now() {
    using namespace std::chrono;
    static const int64_t offset = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() -
                                  duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
    return offset + duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void note_arguments(ProfileEvent& event, const Call& call) {
    event.has_shapes = true;
    for (const Value& v : call.args) {
        const TensorObj* t = v.is_tensor() ? v.tensor_obj() : nullptr;
        event.shapes.push_back(t ? t->sizes : IntVec());
        event.dtypes.push_back(t ? dtype_name(t->dtype) : "");
    }
}

}  // namespace

int32_t Profile::begin(ProfileEvent::Kind kind, std::string_view name) {
    auto index = static_cast<int32_t>(events.size());
    ProfileEvent& event = events.emplace_back();
    event.name = name;
    event.kind = kind;
    event.parent = std::exchange(open, index);
    if (memory) event.memory = -memory_stats().allocated;
    if (stack && capture_profile_stack != nullptr && kind != ProfileEvent::Kind::Backward) {
        Ref<RefCounted> lines = capture_profile_stack();
        events[static_cast<size_t>(index)].stack = std::move(lines);
    }
    events[static_cast<size_t>(index)].start = now();
    return index;
}

void Profile::end(int32_t index) {
    ProfileEvent& event = events[static_cast<size_t>(index)];
    if (event.end >= 0) return;
    event.end = now();
    if (memory) event.memory += memory_stats().allocated;
    open = event.parent;
}

ProfileRange::ProfileRange(const Call& call) : profile_(g_profile) {
    std::string name = "aten::" + call.name();
    if (call.in_place && name.back() != '_') name += '_';
    event_ = profile_->begin(ProfileEvent::Kind::Op, name);
    if (profile_->shapes) note_arguments(profile_->events[static_cast<size_t>(event_)], call);
}

ProfileRange::ProfileRange(const Node& node) : profile_(g_profile) {
    outer_ = profile_->begin(ProfileEvent::Kind::Backward, "autograd::engine::evaluate_function: " + node.name());
    event_ = profile_->begin(ProfileEvent::Kind::Backward, node.name());
    for (int32_t i : {outer_, event_})
        if (!node.is_accumulator()) profile_->events[static_cast<size_t>(i)].sequence = node.seq;
}

void ProfileRange::result(const Call& call) {
    if (g_profile != profile_ || call.out.empty() || !call.out[0]) return;
    if (AutogradMeta* meta = autograd_meta(call.out[0]); meta != nullptr && meta->grad_fn)
        profile_->events[static_cast<size_t>(event_)].sequence = meta->grad_fn->seq;
}

ProfileRange::~ProfileRange() {
    if (g_profile != profile_) return;
    profile_->end(event_);
    if (outer_ >= 0) profile_->end(outer_);
}

}  // namespace mashal
