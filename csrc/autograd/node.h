// The tape: nodes, edges and what hangs off a tensor.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "dispatch/primitive.h"

namespace mashal {

struct Node;

struct Edge {
    Ref<Node> node;
    uint32_t nr = 0;
    explicit operator bool() const { return static_cast<bool>(node); }
};

// Shape and type of one forward result, to check and complete its gradient.
struct ResultMeta {
    IntVec sizes;
    DType dtype = DType::F32;
    Device device;
};

// What a user registered; `callee` is the foreign function inside, for a collector of reference cycles.
struct Hook : RefCounted {
    virtual void* callee() const { return nullptr; }
};
// A function on one gradient; returning an undefined tensor leaves the gradient as it is.
struct GradHook : Hook {
    virtual Tensor call(const Tensor& grad) = 0;
};
// A function on all gradients that enter (pre) or have left (post) a node.
struct NodeHook : Hook {
    virtual void pre(SmallVec<Tensor, 2>& grads) = 0;
    virtual void post(SmallVec<Tensor, 2>& grad_inputs, std::span<const Tensor> grad_outputs) = 0;
};
// Run after a leaf's gradient has been accumulated.
struct TensorHook : Hook {
    virtual void call(const Tensor& t) = 0;
};

struct Node : RefCounted {
    Node();
    virtual const std::string& name() const = 0;
    // Gradients with respect to `next`, from gradients of the results. Undefined tensors stand for zero.
    virtual void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) = 0;
    // Drops saved tensors; the node can't be run again.
    virtual void release_saved() {}
    // A leaf's accumulator is not "run" when gradients are captured by `grad`.
    virtual bool is_accumulator() const { return false; }
    // The leaf of an accumulator; undefined for other nodes.
    virtual Tensor leaf_tensor() const { return {}; }
    // A leaf's hooks, for a gradient that is returned instead of accumulated.
    virtual Tensor leaf_hooks(Tensor grad) { return grad; }
    // Missing gradients of a node with several results arrive as zeros, where there can be any: not those of integers.
    virtual bool wants_zeros(size_t k) const { return is_differentiable_dtype(results[k].dtype); }

    uint64_t seq = 0;
    // The node that runs this one as the history of a view's write (weak: it owns this one); null when the engine does.
    Node* within = nullptr;
    SmallVec<Edge, 2> next;
    SmallVec<ResultMeta, 1> results;
    struct Hooks {
        std::vector<std::pair<uint32_t, Ref<GradHook>>> tensor_pre;   // in order of registration
        std::vector<std::pair<uint32_t, Ref<GradHook>>> retain_grad;  // after those
        std::vector<Ref<NodeHook>> pre, post;
    };
    std::unique_ptr<Hooks> hooks;
    Hooks& ensure_hooks() {
        if (!hooks) hooks = std::make_unique<Hooks>();
        return *hooks;
    }
    Ref<RefCounted> forward_trace;  // anomaly mode: where the op was called
    Ref<RefCounted> metadata;       // the Python face's dictionary

protected:
    ~Node() override = default;
    // Collects nodes that die together and frees them one after another: no recursion in deep graphs.
    void destroy() override;
};

struct AutogradMeta final : AutogradMetaBase {
    ~AutogradMeta() override;
    Tensor grad;
    Ref<Node> grad_fn;
    uint32_t output_nr = 0;
    Node* accumulator = nullptr;  // weak: the graph owns it
    bool retains_grad = false;
    std::vector<Ref<GradHook>> hooks;  // of a leaf
    std::vector<Ref<TensorHook>> post_accumulate;
};

AutogradMeta* autograd_meta(const Tensor& t);  // null when there is none
AutogradMeta& ensure_autograd_meta(const Tensor& t);

// Brings a view's grad_fn up to date after in-place writes to its base.
const Ref<Node>& grad_fn(const Tensor& t);
bool tensor_requires_grad(const Tensor& t);
bool is_leaf(const Tensor& t);
Edge gradient_edge(const Tensor& t);
// Whether nobody else can see t or its memory, so that it may be written or given away.
bool owned_alone(const Tensor& t);
// Gives t the geometry and the history of a view of itself (`squeeze_`, `t_`).
void take_view(std::string_view op, const Tensor& t, const Tensor& view);
Ref<Node> grad_accumulator(const Tensor& t);
void set_history(const Tensor& t, const Ref<Node>& node, uint32_t nr);
// In-place write recorded by `node` into t: rebases t, and its base if t is a view.
void rebase_history(const Tensor& t, const Ref<Node>& node);
void set_requires_grad(const Tensor& t, bool value);
// Same data, no history. Shares the version counter; `data_alias` does not.
Tensor detach(const Tensor& t);
Tensor data_alias(const Tensor& t);
void retain_grad(const Tensor& t);
// Raises if a leaf that requires grad (or a view of one) is about to be written in grad mode.
void check_in_place(std::string_view op, const Tensor& t, bool records);

// ---- modes (thread-local) ----
struct GradModes {
    bool grad = true;
    bool inference = false;
    bool anomaly = false;
    // Packs what the tape saves (saved-tensor hooks); null when there are none.
    Ref<RefCounted> (*pack)(const Tensor&) = nullptr;
};
GradModes& grad_modes();
struct GradModeGuard {
    explicit GradModeGuard(bool on) : before(grad_modes().grad) { grad_modes().grad = on; }
    ~GradModeGuard() { grad_modes().grad = before; }
    bool before;
};

// ---- saved tensors ----
// Undoes GradModes::pack; installed by the foreign layer.
extern Tensor (*unpack_saved)(RefCounted*);

class SavedTensor {
public:
    SavedTensor() = default;
    SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr = 0);
    // The tensor, after checking that it was not written since. `owner` re-links a saved result.
    Tensor unpack(std::string_view op, const Ref<Node>& owner) const;
    void reset() { *this = SavedTensor(); }

private:
    Tensor t_;
    Ref<RefCounted> packed_;
    uint32_t version_ = 0;
    uint32_t output_nr_ = 0;
    bool is_output_ = false;
};

// The node of a primitive call: holds what the op's derivative rule declared.
struct PrimNode final : Node {
    PrimNode(const Primitive& p) : op(&p) {}
    const std::string& name() const override;
    void apply(std::span<const Tensor> grads, SmallVec<Tensor, 2>& out) override;
    void release_saved() override;
    // Argument i as it was saved; tensors are checked. Lists come as lists.
    Value saved_arg(size_t i);
    Tensor saved_output(size_t k);

    const Primitive* op;
    uint64_t needs = 0;                           // bit i: argument i needs a gradient
    SmallVec<Value, 6> args;                      // plain arguments, and shapes of tensors as meta tensors
    SmallVec<SavedTensor, 3> tensors;             // one per argument (empty when it is not saved)
    std::vector<std::vector<SavedTensor>> lists;  // for Tensor[] arguments
    SmallVec<SavedTensor, 1> outputs;
    SmallVec<uint32_t, 6> edge_of_arg;  // first edge of each argument
    uint64_t kept_outputs = 0;          // bit i: output i is saved
    bool released = false;
};
extern const char kFreedText[];

// Steps of Primitive::run.
bool call_needs_grad(const Call& call);
Ref<PrimNode> begin_record(Call& call);
void end_record(Call& call, const Ref<PrimNode>& node);

// ---- engine ----
struct BackwardOptions {
    bool keep_graph = false;
    bool create_graph = false;
    bool accumulate = true;  // into leaves; else return gradients of `inputs`
};
// Gradients of `inputs` (undefined where unreachable), or nothing when accumulating.
std::vector<Tensor> run_backward(std::span<const Edge> roots, std::span<const Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options);
bool in_backward();
// A number for the backward pass that this thread is in (0: none), and whether that pass will run a node.
uint64_t backward_pass();
bool will_run(Node* node);
// The node being run, for error reports; null outside backward.
Node* current_node();

struct AnomalyHooks {
    Ref<RefCounted> (*capture)() = nullptr;
    // Prints where the failing node's forward call was made.
    void (*report)(const Node& node) = nullptr;
    // Raises when a gradient holds NaN.
    void (*check)(const Node& node, std::span<const Tensor> grads) = nullptr;
};
extern AnomalyHooks anomaly_hooks;

}  // namespace mashal
