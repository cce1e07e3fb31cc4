// Runs the tape backwards: nodes in order of decreasing sequence number, each once all its gradients have come.
#include <algorithm>
#include <atomic>
#include <optional>

#include "autograd/node.h"
#include "dispatch/profile.h"

namespace mashal {

namespace {

// Open-addressing map from node to its state in one backward pass.
struct NodeState {
    Node* node = nullptr;
    uint32_t pending = 0;  // gradients still to come
    bool needed = true;    // on a path to a requested input
    bool queued = false;
    SmallVec<Tensor, 2> grads;
};

class NodeMap {
public:
    NodeMap() : slots_(64, UINT32_MAX) {}
    NodeState& at(Node* n) {
        size_t i = probe(n);
        if (slots_[i] == UINT32_MAX) {
            if ((states_.size() + 1) * 2 > slots_.size()) {
                grow();
                i = probe(n);
            }
            slots_[i] = static_cast<uint32_t>(states_.size());
            states_.emplace_back().node = n;
        }
        return states_[slots_[i]];
    }
    NodeState* find(Node* n) {
        size_t i = probe(n);
        return slots_[i] == UINT32_MAX ? nullptr : &states_[slots_[i]];
    }

private:
    size_t probe(Node* n) const {
        size_t mask = slots_.size() - 1;
        size_t i = (reinterpret_cast<uintptr_t>(n) >> 4) * 0x9E3779B97F4A7C15ull >> 32 & mask;
        while (slots_[i] != UINT32_MAX && states_[slots_[i]].node != n) i = (i + 1) & mask;
        return i;
    }
    void grow() {
        slots_.assign(slots_.size() * 2, UINT32_MAX);
        for (uint32_t k = 0; k < states_.size(); k++) slots_[probe(states_[k].node)] = k;
    }
    std::vector<uint32_t> slots_;
    std::vector<NodeState> states_;
};

struct Capture {
    Edge edge;
    Tensor grad;
};

class Task;
thread_local Task* g_task = nullptr;
thread_local Node* g_current = nullptr;

bool can_add_in_place(const Tensor& t) { return owned_alone(t) && !t.requires_grad() && !has_self_overlap(t); }

void accumulate(Tensor& slot, Tensor grad) {
    if (!slot) {
        slot = std::move(grad);
    } else if (!grad_modes().grad && can_add_in_place(slot) && slot.dtype() == grad.dtype() &&
               equal(slot.sizes(), grad.sizes())) {
        call_op_in_place("add", slot, grad);
    } else {
        slot = call_op("add", slot, grad);
    }
}

// Reduces a gradient to the shape and type of the value it belongs to.
Tensor fit_gradient(const Node& from, size_t index, Tensor g, const ResultMeta& meta) {
    if (!equal(g.sizes(), meta.sizes)) {
        bool reducible = g.sizes().size() >= meta.sizes.size();
        size_t lead = reducible ? g.sizes().size() - meta.sizes.size() : 0;
        for (size_t i = 0; reducible && i < meta.sizes.size(); i++)
            reducible = meta.sizes[i] == g.sizes()[lead + i] || meta.sizes[i] == 1;
        MASHAL_CHECK(reducible, "backward", "Function ", from.name(), " returned an invalid gradient at index ", index,
                     " - got ", shape_text(g.sizes()), " but expected shape compatible with ", shape_text(meta.sizes));
        IntVec dims;
        for (size_t i = 0; i < g.sizes().size(); i++)
            if (i < lead || meta.sizes[i - lead] != g.sizes()[i]) dims.push_back(static_cast<int64_t>(i));
        if (!dims.empty()) g = call_op("sum", g, dims, true);
        if (lead > 0) g = call_op("reshape", g, meta.sizes);
    }
    if (g.dtype() != meta.dtype) {
        if (is_complex(g.dtype()) && !is_complex(meta.dtype)) g = call_op("real", g);
        if (g.dtype() != meta.dtype) g = call_op("_to_copy", g, meta.dtype);
    }
    return g;
}

void run_pre_hooks(Node& node, SmallVec<Tensor, 2>& grads) {
    // By index: a hook may register or remove others.
    for (size_t i = 0; i < node.hooks->tensor_pre.size(); i++) {
        auto [nr, hook] = node.hooks->tensor_pre[i];
        if (grads[nr])
            if (Tensor replaced = hook->call(grads[nr])) grads[nr] = replaced;
    }
    for (size_t i = 0; i < node.hooks->pre.size(); i++) {
        Ref<NodeHook> hook = node.hooks->pre[i];
        hook->pre(grads);
    }
    for (size_t i = 0; i < node.hooks->retain_grad.size(); i++) {
        auto [nr, hook] = node.hooks->retain_grad[i];
        if (grads[nr]) hook->call(grads[nr]);
    }
}

class Task {
public:
    Task(std::span<const Edge> roots, std::span<const Tensor> grads, std::span<const Edge> inputs,
         const BackwardOptions& o)
        : options_(o) {
        for (const Edge& e : inputs) captures_.push_back({e, {}});
        count_dependencies(roots);
        if (!captures_.empty()) mark_needed(roots);
        for (size_t i = 0; i < roots.size(); i++) {
            if (!roots[i]) continue;
            send(roots[i], grads[i]);
        }
        for (const Edge& e : roots)
            if (e) enqueue_if_ready(map_.at(e.node.get()));
    }

    void run() {
        while (!ready_.empty()) {
            std::pop_heap(ready_.begin(), ready_.end(), later);
            Ref<Node> node = std::move(ready_.back());
            ready_.pop_back();
            SmallVec<Tensor, 2> grads = std::move(map_.at(node.get()).grads);
            bool needed = map_.at(node.get()).needed;
            run_node(*node, grads, needed);
        }
    }

    bool will_run(Node* node) {
        NodeState* s = map_.find(node);
        return s != nullptr && (captures_.empty() || s->needed);
    }

    std::vector<Tensor> results() {
        std::vector<Tensor> out;
        for (Capture& c : captures_) out.push_back(std::move(c.grad));
        return out;
    }

private:
    static bool later(const Ref<Node>& a, const Ref<Node>& b) { return a->seq < b->seq; }

    void count_dependencies(std::span<const Edge> roots) {
        std::vector<Node*> stack;
        auto visit = [&](Node* n) {
            if (map_.find(n) == nullptr) {
                map_.at(n);
                stack.push_back(n);
            }
        };
        for (const Edge& e : roots)
            if (e) visit(e.node.get());
        while (!stack.empty()) {
            Node* n = stack.back();
            stack.pop_back();
            for (const Edge& e : n->next) {
                if (!e) continue;
                visit(e.node.get());
                map_.at(e.node.get()).pending++;
            }
        }
    }

    // With `inputs` given, only nodes from which an input can be reached are run. Iterative post-order walk.
    void mark_needed(std::span<const Edge> roots) {
        std::vector<std::pair<Node*, size_t>> stack;
        NodeMap seen;
        auto enter = [&](Node* n) {
            if (seen.find(n) != nullptr) return;
            seen.at(n);
            bool target = false;
            for (const Capture& c : captures_) target |= c.edge.node.get() == n;
            map_.at(n).needed = target;
            stack.push_back({n, 0});
        };
        for (const Edge& e : roots) {
            if (!e) continue;
            enter(e.node.get());
            while (!stack.empty()) {
                auto& [n, i] = stack.back();
                if (i < n->next.size()) {
                    Node* child = n->next[i++].node.get();
                    if (child != nullptr) enter(child);
                    continue;
                }
                Node* done = n;
                stack.pop_back();
                for (const Edge& edge : done->next)
                    if (edge && map_.at(edge.node.get()).needed) map_.at(done).needed = true;
            }
        }
    }

    void send(const Edge& e, Tensor grad) {
        NodeState& s = map_.at(e.node.get());
        if (s.grads.empty()) s.grads.resize(std::max<size_t>(e.node->results.size(), 1));
        if (grad) accumulate(s.grads[e.nr], std::move(grad));
    }

    void enqueue_if_ready(NodeState& s) {
        if (s.pending != 0 || s.queued) return;
        s.queued = true;
        ready_.emplace_back(s.node);
        std::push_heap(ready_.begin(), ready_.end(), later);
    }

    void run_node(Node& node, SmallVec<Tensor, 2>& grads, bool needed) {
        if (grads.empty()) grads.resize(std::max<size_t>(node.results.size(), 1));
        bool any = false;
        for (const Tensor& g : grads) any |= g.defined();
        SmallVec<Tensor, 2> out;
        if (needed && any) {
            if (node.hooks) run_pre_hooks(node, grads);
            bool captured_leaf = false;
            for (Capture& c : captures_) {
                if (c.edge.node.get() != &node) continue;
                // Hooks of a leaf apply to gradients returned by `grad` as well, once.
                if (node.is_accumulator() && !captured_leaf && grads[0] && !options_.accumulate)
                    grads[0] = node.leaf_hooks(grads[0]);
                captured_leaf |= node.is_accumulator();
                c.grad = grads[c.edge.nr];
            }
            bool is_input_only =
                !captures_.empty() && node.is_accumulator() && (!captured_leaf || !options_.accumulate);
            if (!is_input_only && leads_on(node)) {
                if (node.results.size() > 1) materialise(node, grads);
                Node* before = std::exchange(g_current, &node);
                try {
                    std::optional<ProfileRange> range;
                    if (profiling()) range.emplace(node);
                    node.apply(grads, out);
                } catch (...) {
                    g_current = before;
                    if (grad_modes().anomaly && anomaly_hooks.report) anomaly_hooks.report(node);
                    throw;
                }
                g_current = before;
                if (node.hooks)
                    for (size_t i = 0; i < node.hooks->post.size(); i++) {
                        Ref<NodeHook> hook = node.hooks->post[i];
                        hook->post(out, grads);
                    }
                if (grad_modes().anomaly && anomaly_hooks.check) anomaly_hooks.check(node, out);
            }
        }
        // A node beyond the inputs of `grad` belongs to a graph that goes on living.
        if (!options_.keep_graph && needed && leads_on(node)) node.release_saved();
        MASHAL_CHECK(out.size() <= std::max(node.next.size(), out.empty() ? size_t{0} : node.next.size()), "backward",
                     "Function ", node.name(), " returned an incorrect number of gradients (expected ",
                     node.next.size(), ", got ", out.size(), ")");
        for (size_t i = 0; i < node.next.size(); i++) {
            const Edge& e = node.next[i];
            if (!e) continue;
            Tensor g = i < out.size() ? std::move(out[i]) : Tensor();
            if (g && e.nr < e.node->results.size()) g = fit_gradient(node, i, std::move(g), e.node->results[e.nr]);
            send(e, std::move(g));
            NodeState& s = map_.at(e.node.get());
            s.pending--;
            enqueue_if_ready(s);
        }
    }

    // With captures, a node's gradients are wanted only if some input lies beyond it.
    bool leads_on(const Node& node) {
        if (captures_.empty() || node.is_accumulator()) return true;
        for (const Edge& e : node.next)
            if (e && map_.at(e.node.get()).needed) return true;
        return false;
    }

    static void materialise(Node& node, SmallVec<Tensor, 2>& grads) {
        for (size_t k = 0; k < grads.size(); k++) {
            if (grads[k] || !node.wants_zeros(k)) continue;
            const ResultMeta& m = node.results[k];
            grads[k] = call_op_in_place("zero_", empty(m.sizes, m.dtype, m.device));
        }
    }

public:
    uint64_t number = 0;

private:
    BackwardOptions options_;
    NodeMap map_;
    std::vector<Ref<Node>> ready_;
    std::vector<Capture> captures_;
};

}  // namespace

bool in_backward() { return g_task != nullptr; }
uint64_t backward_pass() { return g_task ? g_task->number : 0; }
bool will_run(Node* node) { return g_task && g_task->will_run(node); }
Node* current_node() { return g_current; }

std::vector<Tensor> run_backward(std::span<const Edge> roots, std::span<const Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options) {
    GradModeGuard mode(options.create_graph);
    static std::atomic<uint64_t> passes{0};
    Task task(roots, grads, inputs, options);
    task.number = ++passes;
    struct Current {
        explicit Current(Task& t) : before(std::exchange(g_task, &t)) {}
        ~Current() { g_task = before; }
        Task* before;
    } current(task);
    task.run();
    return task.results();
}

}  // namespace mashal
