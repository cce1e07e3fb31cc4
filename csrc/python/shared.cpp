// Shared memory as uint8 tensors, for the multiprocessing and data-loading packages.
#include "core/shared_memory.h"

#include <cstring>

#include "core/generator.h"
#include "core/parallel.h"
#include "python/common.h"

namespace mashal {

namespace {

PyObject* bytes_tensor(Ref<Storage> storage) {
    Tensor t(new TensorObj);
    t->sizes = IntVec{static_cast<int64_t>(storage->nbytes())};
    t->strides = IntVec{1};
    t->dtype = DType::U8;
    t->storage = std::move(storage);
    t->geometry_changed();
    return wrap(std::move(t));
}
PyObject* whole(std::shared_ptr<SharedMapping> mapping) {
    size_t n = mapping->nbytes();
    return bytes_tensor(shared_storage(std::move(mapping), n));
}

Storage& storage_of(PyObject* o) {
    MASHAL_CHECK_AS(Type, is_tensor(o), "shared memory", "expected a tensor, got ", Py_TYPE(o)->tp_name);
    return *tensor_obj(o)->storage;
}
std::shared_ptr<SharedMapping> mapping_of(PyObject* o) {
    auto mapping = shared_mapping(storage_of(o));
    MASHAL_CHECK(mapping != nullptr, "shared memory", "the tensor's memory is not shared");
    return mapping;
}

PyObject* py_create(PyObject*, PyObject* args) {
    Py_ssize_t nbytes;
    int named;
    if (!PyArg_ParseTuple(args, "np", &nbytes, &named)) return nullptr;
    return guarded([&] {
        MASHAL_CHECK(nbytes >= 0, "shared memory", "the size must not be negative, got ", nbytes);
        return whole(SharedMapping::create(static_cast<size_t>(nbytes), named != 0));
    });
}
PyObject* py_attach(PyObject*, PyObject* args) {
    int fd, keep_fd;
    Py_ssize_t nbytes;
    if (!PyArg_ParseTuple(args, "inp", &fd, &nbytes, &keep_fd)) return nullptr;
    return guarded([&] { return whole(SharedMapping::attach(fd, static_cast<size_t>(nbytes), keep_fd != 0)); });
}
PyObject* py_attach_name(PyObject*, PyObject* args) {
    const char* name;
    Py_ssize_t nbytes;
    if (!PyArg_ParseTuple(args, "sn", &name, &nbytes)) return nullptr;
    return guarded([&] { return whole(SharedMapping::attach(std::string(name), static_cast<size_t>(nbytes))); });
}
PyObject* py_share(PyObject*, PyObject* args) {
    PyObject* tensor;
    int named;
    if (!PyArg_ParseTuple(args, "Op", &tensor, &named)) return nullptr;
    return guarded([&]() -> PyObject* {
        share_storage(storage_of(tensor), named != 0);
        Py_RETURN_NONE;
    });
}
PyObject* py_is_shared(PyObject*, PyObject* o) {
    return guarded([&] { return PyBool_FromLong(is_shared(storage_of(o))); });
}
PyObject* py_handle(PyObject*, PyObject* o) {
    return guarded([&] {
        auto m = mapping_of(o);
        return Py_BuildValue("(isn)", m->fd(), m->name().c_str(), static_cast<Py_ssize_t>(m->nbytes()));
    });
}
PyObject* py_close_fd(PyObject*, PyObject* o) {
    return guarded([&]() -> PyObject* {
        mapping_of(o)->close_fd();
        Py_RETURN_NONE;
    });
}
PyObject* py_count_message(PyObject*, PyObject* args) {
    PyObject* tensor;
    int change;
    if (!PyArg_ParseTuple(args, "Oi", &tensor, &change)) return nullptr;
    return guarded([&]() -> PyObject* {
        mapping_of(tensor)->count_message(change);
        Py_RETURN_NONE;
    });
}
PyObject* py_forget_names(PyObject*, PyObject*) {
    return guarded([]() -> PyObject* {
        SharedMapping::forget_names();
        Py_RETURN_NONE;
    });
}
PyObject* py_piece(PyObject*, PyObject* args) {
    PyObject* block;
    Py_ssize_t nbytes;
    if (!PyArg_ParseTuple(args, "On", &block, &nbytes)) return nullptr;
    return guarded([&] {
        auto m = mapping_of(block);
        MASHAL_CHECK(nbytes >= 0 && static_cast<size_t>(nbytes) <= m->nbytes(), "shared memory", "a piece of ", nbytes,
                     " bytes does not fit its block of ", m->nbytes());
        return bytes_tensor(shared_storage(std::move(m), static_cast<size_t>(nbytes)));
    });
}
PyObject* py_users(PyObject*, PyObject* o) {
    // Less the temporary here.
    return guarded([&] { return PyLong_FromLong(mapping_of(o).use_count() - 1); });
}
PyObject* py_borrow(PyObject*, PyObject* args) {
    PyObject *block, *states, *list;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(args, "OOnO", &block, &states, &index, &list)) return nullptr;
    return guarded([&] {
        std::vector<Piece> pieces;
        PyRef fast = checked(PySequence_Fast(list, "expected (offset, size) pairs"));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
            Py_ssize_t offset, nbytes;
            if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(fast.get(), i), "nn", &offset, &nbytes))
                throw ForeignError();
            MASHAL_CHECK(offset >= 0 && nbytes >= 0, "shared memory", "offset and size must not be negative");
            pieces.push_back({static_cast<size_t>(offset), static_cast<size_t>(nbytes)});
        }
        auto storages = borrow_block(mapping_of(block), mapping_of(states), static_cast<size_t>(index), pieces);
        PyRef out = checked(PyList_New(static_cast<Py_ssize_t>(storages.size())));
        for (size_t i = 0; i < storages.size(); i++)
            PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(bytes_tensor(storages[i])).release());
        return out.release();
    });
}
PyObject* py_block_state(PyObject*, PyObject* args) {
    PyObject* states;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(args, "On", &states, &index)) return nullptr;
    return guarded([&] {
        return PyLong_FromLong(static_cast<long>(block_state(*mapping_of(states), static_cast<size_t>(index))));
    });
}
PyObject* py_set_block_state(PyObject*, PyObject* args) {
    PyObject* states;
    Py_ssize_t index;
    int state;
    if (!PyArg_ParseTuple(args, "Oni", &states, &index, &state)) return nullptr;
    return guarded([&]() -> PyObject* {
        MASHAL_CHECK_AS(Value, state >= 0 && state <= 2, "shared memory", "no such state: ", state);
        set_block_state(*mapping_of(states), static_cast<size_t>(index), static_cast<BlockState>(state));
        Py_RETURN_NONE;
    });
}

struct Geometry {
    DType dtype;
    IntVec sizes, strides;
    int64_t offset = 0;
    size_t reach = 0;  // bytes from the start of the storage to the end of the last element
};
Geometry geometry_from(PyObject* dtype, PyObject* sizes, PyObject* strides, long long offset) {
    Geometry g{dtype_from(dtype), ints_from(sizes, "tensor"), {}, offset, 0};
    g.strides = strides == Py_None ? contiguous_strides(g.sizes) : ints_from(strides, "tensor");
    MASHAL_CHECK(g.sizes.size() == g.strides.size() && g.sizes.size() <= kMaxDims && offset >= 0 && offset < kMaxNumel,
                 "tensor", "sizes and strides must have the same length, at most ", kMaxDims);
    int64_t n = checked_numel("tensor", g.sizes), last = offset, reach = 0;
    for (size_t i = 0; i < g.sizes.size() && n > 0; i++)
        MASHAL_CHECK(g.strides[i] >= 0 && !__builtin_mul_overflow(g.sizes[i] - 1, g.strides[i], &reach) &&
                         !__builtin_add_overflow(last, reach, &last) && last < kMaxNumel,
                     "tensor", "strides must not be negative, nor reach too far");
    g.reach = n == 0 ? 0 : static_cast<size_t>((last + 1) * item_size(g.dtype));
    return g;
}
PyObject* tensor_with(Ref<Storage> storage, const Geometry& g) {
    MASHAL_CHECK(g.reach <= storage->nbytes(), "tensor", "needs ", g.reach, " bytes, got ", storage->nbytes());
    Tensor t(new TensorObj);
    t->sizes = g.sizes;
    t->strides = g.strides;
    t->offset = g.offset;
    t->dtype = g.dtype;
    t->storage = std::move(storage);
    t->geometry_changed();
    return wrap(std::move(t));
}
// (tensor whose storage to use, dtype, sizes, strides or None, offset)
PyObject* py_tensor_over(PyObject*, PyObject* args) {
    PyObject *memory, *dtype, *sizes, *strides;
    long long offset;
    if (!PyArg_ParseTuple(args, "OOOOL", &memory, &dtype, &sizes, &strides, &offset)) return nullptr;
    return guarded([&] {
        Ref<Storage> storage(&storage_of(memory));
        return tensor_with(std::move(storage), geometry_from(dtype, sizes, strides, offset));
    });
}
// (bytes, dtype, sizes, strides or None)
PyObject* py_tensor_from_bytes(PyObject*, PyObject* args) {
    Py_buffer data;
    PyObject *dtype, *sizes, *strides;
    if (!PyArg_ParseTuple(args, "y*OOO", &data, &dtype, &sizes, &strides)) return nullptr;
    PyObject* out = guarded([&] {
        auto storage = make_ref<Storage>(static_cast<size_t>(data.len), Device{});
        if (data.len > 0) std::memcpy(storage->data(), data.buf, static_cast<size_t>(data.len));
        return tensor_with(std::move(storage), geometry_from(dtype, sizes, strides, 0));
    });
    PyBuffer_Release(&data);
    return out;
}

PyObject* py_keep_thread_serial(PyObject*, PyObject*) {
    keep_thread_serial();
    Py_RETURN_NONE;
}
PyObject* py_set_thread_generator(PyObject*, PyObject* o) {
    return guarded([&]() -> PyObject* {
        if (o == Py_None) {
            set_thread_generator(nullptr);
        } else {
            Ref<RefCounted> g = generator_from(o);
            MASHAL_CHECK_AS(Type, static_cast<bool>(g), "set_thread_generator", "expected a Generator, got ",
                            Py_TYPE(o)->tp_name);
            set_thread_generator(Ref<Generator>(static_cast<Generator*>(g.get())));
        }
        Py_RETURN_NONE;
    });
}

PyMethodDef functions[] = {
    {"shared_create", py_create, METH_VARARGS, "shared_create(nbytes, named): new shared memory as bytes."},
    {"shared_attach", py_attach, METH_VARARGS, "shared_attach(fd, nbytes, keep_fd): memory of another process."},
    {"shared_attach_name", py_attach_name, METH_VARARGS, "shared_attach_name(name, nbytes)"},
    {"shared_move", py_share, METH_VARARGS, "shared_move(tensor, named): moves a tensor's storage to shared memory."},
    {"shared_is", py_is_shared, METH_O, "shared_is(tensor): whether its memory is shared."},
    {"shared_handle", py_handle, METH_O, "shared_handle(tensor): (descriptor or -1, name or '', nbytes)."},
    {"shared_close_fd", py_close_fd, METH_O, "shared_close_fd(tensor): closes the descriptor, keeps the memory."},
    {"shared_count_message", py_count_message, METH_VARARGS, "shared_count_message(tensor, change)"},
    {"shared_forget_names", py_forget_names, METH_NOARGS, "Gives up this process's names; called as it ends."},
    {"shared_piece", py_piece, METH_VARARGS, "shared_piece(block, nbytes): a storage over the start of a block."},
    {"shared_users", py_users, METH_O, "shared_users(block): how many storages of this process use its memory."},
    {"shared_borrow", py_borrow, METH_VARARGS,
     "shared_borrow(block, states, index, [(offset, nbytes)]): storages that give the block back when they die."},
    {"shared_state", py_block_state, METH_VARARGS, "shared_state(states, index): 0 free, 1 lent, 2 retired."},
    {"shared_set_state", py_set_block_state, METH_VARARGS, "shared_set_state(states, index, state)"},
    {"tensor_over", py_tensor_over, METH_VARARGS, "tensor_over(memory, dtype, sizes, strides or None, offset)"},
    {"tensor_from_bytes", py_tensor_from_bytes, METH_VARARGS, "tensor_from_bytes(data, dtype, sizes, strides or None)"},
    {"keep_thread_serial", py_keep_thread_serial, METH_NOARGS, "Kernels that this thread runs use no other threads."},
    {"set_thread_generator", py_set_thread_generator, METH_O,
     "set_thread_generator(generator or None): this thread's default generator."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_shared(PyObject* module) { check_status(PyModule_AddFunctions(module, functions)); }

}  // namespace mashal
