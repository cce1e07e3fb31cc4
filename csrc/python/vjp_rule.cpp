#include "python/vjp_rule.h"

#include <vector>

namespace mashal {

namespace {

struct Param {
    enum class Kind { Grad, Grads, Arg, Shape, Geometry, Out, Outs, Needs } kind;
    size_t index = 0;
};

struct Rule {
    PyRef fn;
    std::vector<Param> params;
    uint64_t args = 0;
    uint64_t shapes = 0;
    uint64_t outputs = 0;
};

class PyVjpRule final : public VjpRule {
public:
    explicit PyVjpRule(const Primitive& p) : rules(p.schema.args.size()) {}

    uint64_t saved_args(size_t input) const override { return of(input) ? of(input)->args : 0; }
    uint64_t saved_shapes(size_t input) const override { return of(input) ? of(input)->shapes : 0; }
    bool covers(size_t input) const override { return of(input) != nullptr; }
    uint64_t saved_outputs(size_t input) const override { return of(input) ? of(input)->outputs : 0; }

    void apply(PrimNode& node, std::span<const Tensor> gs, std::span<Tensor> grads) const override {
        if (joint) {
            PyRef result = call(*joint, node, gs);
            if (!PyTuple_Check(result.get()) && !PyList_Check(result.get()))
                raise_error(ErrorKind::Type, node.op->name, "a joint derivative rule returns a tuple of gradients");
            Py_ssize_t k = 0;
            for (uint32_t mask = node.op->tensor_args; mask; mask &= mask - 1, k++) {
                size_t i = static_cast<size_t>(__builtin_ctz(mask));
                if (k < PySequence_Fast_GET_SIZE(result.get()))
                    store(node, i, PySequence_Fast_GET_ITEM(result.get(), k), grads);
            }
            return;
        }
        for (uint64_t mask = node.needs; mask; mask &= mask - 1) {
            size_t i = static_cast<size_t>(__builtin_ctzll(mask));
            if (!rules[i].fn) continue;
            store(node, i, call(rules[i], node, gs).get(), grads);
        }
    }

    std::vector<Rule> rules;
    std::unique_ptr<Rule> joint;

private:
    const Rule* of(size_t input) const { return joint ? joint.get() : rules[input].fn ? &rules[input] : nullptr; }

    static PyRef shape_of(const Value& v) {
        if (v.is_none()) return PyRef::borrow(Py_None);
        if (v.is_tensor()) return checked(size_to_python(v.tensor().sizes()));
        const auto& items = v.tensor_list();
        PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
        for (size_t i = 0; i < items.size(); i++)
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                            items[i] ? size_to_python(items[i].sizes()) : Py_NewRef(Py_None));
        return list;
    }

    static PyRef argument(const Param& p, PrimNode& node, std::span<const Tensor> gs) {
        switch (p.kind) {
            case Param::Kind::Grad: return PyRef::steal(wrap(gs[0]));
            case Param::Kind::Grads: {
                PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(gs.size())));
                for (size_t i = 0; i < gs.size(); i++)
                    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(gs[i]));
                return tuple;
            }
            case Param::Kind::Arg: return checked(value_to_python(node.saved_arg(p.index)));
            case Param::Kind::Shape: return shape_of(node.args[p.index]);
            case Param::Kind::Geometry: {
                Tensor t = node.args[p.index].tensor();
                return checked(Py_BuildValue("(NNL)", size_to_python(t.sizes()), size_to_python(t.strides()),
                                             static_cast<long long>(t->offset)));
            }
            case Param::Kind::Out: return PyRef::steal(wrap(node.saved_output(p.index)));
            case Param::Kind::Outs: {
                PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(node.outputs.size())));
                for (size_t i = 0; i < node.outputs.size(); i++)
                    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(node.saved_output(i)));
                return tuple;
            }
            case Param::Kind::Needs: {
                PyRef list = checked(PyList_New(0));
                for (uint32_t mask = node.op->tensor_args; mask; mask &= mask - 1)
                    check_status(PyList_Append(list.get(), node.needs >> __builtin_ctz(mask) & 1 ? Py_True : Py_False));
                return checked(PyList_AsTuple(list.get()));
            }
        }
        return {};
    }

    static PyRef call(const Rule& rule, PrimNode& node, std::span<const Tensor> gs) {
        PyRef held[16];
        PyObject* args[16];
        for (size_t k = 0; k < rule.params.size(); k++) {
            held[k] = argument(rule.params[k], node, gs);
            args[k] = held[k].get();
        }
        return checked(PyObject_Vectorcall(rule.fn.get(), args, rule.params.size(), nullptr));
    }

    static Tensor gradient(const PrimNode& node, PyObject* o) {
        if (o == Py_None) return {};
        if (!is_tensor(o))
            raise_error(ErrorKind::Type, node.op->name, "a derivative rule returns Tensor or None, not ",
                        Py_TYPE(o)->tp_name);
        return as_tensor(o);
    }

    static void store(PrimNode& node, size_t arg, PyObject* o, std::span<Tensor> grads) {
        if (!(node.needs >> arg & 1)) return;
        size_t edge = node.edge_of_arg[arg];
        if (node.op->schema.args[arg].type != ArgType::Tensors) {
            grads[edge] = gradient(node, o);
            return;
        }
        if (o == Py_None) return;
        PyRef fast = checked(PySequence_Fast(o, "the derivative rule of a tensor list returns a list of gradients"));
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.get()) && edge + static_cast<size_t>(k) < grads.size();
             k++)
            grads[edge + static_cast<size_t>(k)] = gradient(node, PySequence_Fast_GET_ITEM(fast.get(), k));
    }
};

Rule make_rule(const Primitive& prim, PyObject* fn, PyObject* params) {
    Rule rule;
    rule.fn = PyRef::borrow(fn);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(params); k++) {
        std::string_view name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(params, k));
        constexpr std::string_view suffix = "_shape", geometry = "_geometry";
        int arg = prim.schema.find(name);
        if (name == "g") {
            rule.params.push_back({Param::Kind::Grad});
        } else if (name == "gs") {
            rule.params.push_back({Param::Kind::Grads});
        } else if (arg >= 0) {
            rule.params.push_back({Param::Kind::Arg, static_cast<size_t>(arg)});
            rule.args |= uint64_t{1} << arg;
        } else if (name == "out") {
            rule.params.push_back({Param::Kind::Out});
            rule.outputs |= 1;
        } else if (name.size() == 4 && name.starts_with("out") && name[3] >= '0' && name[3] <= '9') {
            auto i = static_cast<size_t>(name[3] - '0');
            MASHAL_CHECK(i < prim.schema.n_outputs, prim.name, "the derivative rule's '", name,
                         "' is no result of the op");
            rule.params.push_back({Param::Kind::Out, i});
            rule.outputs |= uint64_t{1} << i;
        } else if (name == "outs") {
            rule.params.push_back({Param::Kind::Outs});
            rule.outputs = ~uint64_t{0};
        } else if (name == "needs") {
            rule.params.push_back({Param::Kind::Needs});
        } else if (name.ends_with(suffix) && prim.schema.find(name.substr(0, name.size() - suffix.size())) >= 0) {
            auto i = static_cast<size_t>(prim.schema.find(name.substr(0, name.size() - suffix.size())));
            rule.params.push_back({Param::Kind::Shape, i});
            rule.shapes |= uint64_t{1} << i;
        } else if (name.ends_with(geometry) && prim.schema.find(name.substr(0, name.size() - geometry.size())) >= 0) {
            auto i = static_cast<size_t>(prim.schema.find(name.substr(0, name.size() - geometry.size())));
            rule.params.push_back({Param::Kind::Geometry, i});
            rule.shapes |= uint64_t{1} << i;
        } else {
            raise_error(ErrorKind::Value, prim.name, "the derivative rule's parameter '", name,
                        "' is no argument of the op");
        }
    }
    MASHAL_CHECK(rule.params.size() <= 16, prim.name, "a derivative rule has at most 16 parameters");
    return rule;
}

}  // namespace

void add_vjp_rule(Primitive& prim, PyObject* input, PyObject* fn, PyObject* params) {
    if (!prim.vjp) prim.vjp = std::make_unique<PyVjpRule>(prim);
    auto& rule = static_cast<PyVjpRule&>(*prim.vjp);
    if (input == Py_None) {
        rule.joint = std::make_unique<Rule>(make_rule(prim, fn, params));
    } else {
        int i = prim.schema.find(PyUnicode_AsUTF8(input));
        if (i < 0) raise_error(ErrorKind::Value, prim.name, "no argument named '", PyUnicode_AsUTF8(input), "'");
        rule.rules[static_cast<size_t>(i)] = make_rule(prim, fn, params);
    }
    prim.differentiable = true;
}

}  // namespace mashal
