"""Tensors shared between processes."""

import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sharing_parts as parts
import torch
import torch.multiprocessing

import mashal
import mashal.multiprocessing as mp
from mashal.multiprocessing.reductions import ForkingPickler

pytestmark = pytest.mark.usefixtures("time_limit")
CONTEXTS = pytest.mark.parametrize("method", ["fork", "spawn"])


@pytest.fixture(params=sorted(mp.get_all_sharing_strategies()))
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)
    gc.collect()
    assert not named(os.getpid())


def named(pid):
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"mashal_{pid}_")]


def through(obj):
    """An object, pickled as for another process."""
    return pickle.loads(ForkingPickler.dumps(obj))


def test_names():
    missing = [name for name in torch.multiprocessing.__all__ if not hasattr(mp, name)]
    assert not missing
    assert mp.Process is multiprocessing.Process
    assert mp.get_all_sharing_strategies() == torch.multiprocessing.get_all_sharing_strategies()
    assert mp.get_sharing_strategy() == torch.multiprocessing.get_sharing_strategy()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'telepathy'"):
        mp.set_sharing_strategy("telepathy")
    assert mashal.multiprocessing is mp


# ---- shared memory in one process ----


def test_share_memory(strategy):
    x = mashal.arange(6.0).reshape(2, 3)
    view, array, pointer = x[1], x.numpy(), x.data_ptr()
    assert not x.is_shared()
    assert not x.untyped_storage().is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert view.is_shared()
    assert x.untyped_storage().is_shared()
    assert x.data_ptr() != pointer
    assert view.data_ptr() == x.data_ptr() + 12
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    view.fill_(7)
    assert x[1].tolist() == [7, 7, 7]
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]  # the old memory lives as long as the tensor's
    pointer = x.data_ptr()
    assert x.share_memory_().data_ptr() == pointer
    with pytest.raises(RuntimeError, match="storage that is not resizable"):
        x.resize_(100)
    assert not (x + 1).is_shared()
    assert mashal.empty(0).share_memory_().shape == (0,)


def test_share_memory_keeps_gradients():
    p = mashal.nn.Parameter(mashal.ones(3))
    p.share_memory_()
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2, 2]
    assert p.is_leaf
    assert p.is_shared()
    module = mashal.nn.Sequential(mashal.nn.Linear(2, 2), mashal.nn.BatchNorm1d(2))
    assert module.share_memory() is module
    assert all(t.is_shared() for t in [*module.parameters(), *module.buffers()])


def test_storages(strategy):
    s = mashal.UntypedStorage([1, 2, 3])
    assert s.share_memory_() is s
    assert s.is_shared()
    assert s.tolist() == [1, 2, 3]
    other = through(s)
    other[0] = 9
    assert s.tolist() == [9, 2, 3]
    fresh = mashal.UntypedStorage._new_shared(16)
    assert fresh.is_shared()
    assert fresh.nbytes() == 16
    assert set(fresh.tolist()) == {0}
    typed = mashal.storage.TypedStorage([1.5, 2.5])
    again = through(typed)
    assert again.dtype is mashal.float32
    assert again.tolist() == [1.5, 2.5]
    assert typed.is_shared()
    assert through(mashal.UntypedStorage(0)).nbytes() == 0
    assert typed._new_shared(3).nbytes() == 12


def test_reductions(strategy):
    x = mashal.arange(12.0).reshape(3, 4)
    y = through(x.t()[1:])
    assert x.is_shared()
    assert y.is_shared()
    assert y.shape == (3, 3)
    assert y.stride() == (1, 4)
    assert y.storage_offset() == 1
    y.zero_()
    assert x[:, 1:].sum() == 0
    a, b = through((x, x[2]))
    b.fill_(5)
    assert a[2].tolist() == [5] * 4
    p = through(mashal.nn.Parameter(mashal.ones(2), requires_grad=False))
    assert isinstance(p, mashal.nn.Parameter)
    assert not p.requires_grad
    assert through(mashal.ones(2, requires_grad=True)).requires_grad
    assert through(mashal.empty(2, 3, device="meta")).is_meta
    assert through(mashal.empty(0, 3)).shape == (0, 3)
    for dtype in (mashal.bool, mashal.bfloat16, mashal.complex64, mashal.int16):
        assert mashal.equal(through(mashal.ones(3).to(dtype)), mashal.ones(3).to(dtype))
    with pytest.raises(RuntimeError, match="non-leaf"):
        through(mashal.ones(1, requires_grad=True) * 2)
    tied = mashal.nn.Linear(2, 2)
    one, two = through([tied, tied])
    assert one.weight.data_ptr() == two.weight.data_ptr()


def test_plain_multiprocessing_shares():
    program = (
        "import multiprocessing as mp, mashal\n"
        "q = mp.SimpleQueue(); x = mashal.zeros(3); q.put(x); q.get().fill_(2); assert x.tolist() == [2, 2, 2]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)


def test_ordinary_pickles_copy():
    x = mashal.ones(3)
    stream = io.BytesIO(pickle.dumps(x))
    assert not x.is_shared()
    assert pickle.load(stream).tolist() == [1, 1, 1]


def test_handles_are_released(strategy):
    def once():
        x = mashal.ones(5000)
        y = through(x)
        assert y.sum() == 5000

    once()
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        once()
    assert len(os.listdir("/proc/self/fd")) <= files + 1


# ---- between processes ----


@CONTEXTS
def test_queue(method, strategy):
    context = mp.get_context(method)
    there, back = context.Queue(), context.SimpleQueue()
    process = context.Process(target=parts.double, args=(there, back), daemon=True)
    process.start()
    for n in (3, 200_000):
        x = mashal.ones(n)
        there.put(x)
        y = back.get()
        assert y.is_shared()
        assert (y == 2).all()
        assert (x == 2).all()  # one memory
        y.fill_(4)
        assert (x == 4).all()
    there.put(None)
    process.join(20)
    assert process.exitcode == 0


@CONTEXTS
def test_no_names_stay(method):
    """Processes of multiprocessing end by _exit."""
    strategy = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        context = mp.get_context(method)
        there, back = context.SimpleQueue(), context.SimpleQueue()
        process = context.Process(target=parts.keep, args=(there, back))
        process.start()
        x = mashal.zeros(4)
        there.put(x)
        y, z = back.get(), back.get()
        there.put("got them")
        process.join(30)
        assert process.exitcode == 0
        assert y.is_shared()
        assert z.tolist() == [1] * 5
        del x, y, z
    finally:
        mp.set_sharing_strategy(strategy)
    gc.collect()
    assert not named(os.getpid())
    assert not named(process.pid)


@CONTEXTS
def test_pipe(method):
    context = mp.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=parts.talk, args=(there,))
    process.start()
    x = mashal.zeros(2, 3)
    here.send(("hello", x))
    kind, shared, y = here.recv()
    here.send("got it")
    assert (kind, shared) == ("hello", True)
    assert x.tolist() == y.tolist() == [[1] * 3] * 2
    process.join(20)


def test_pool():
    with mp.Pool(2) as pool:
        assert [t.item() for t in pool.map(parts.total, [mashal.ones(n) for n in (1, 5, 50000)])] == [1, 5, 50000]
        assert [t.shape[0] for t in pool.imap(parts.ones, [1, 30000])] == [1, 30000]
    from mashal.multiprocessing.pool import Pool

    with Pool(1) as pool:
        assert pool.apply(parts.total, (mashal.ones(4),)).item() == 4


def test_queue_classes():
    from mashal.multiprocessing.queue import ConnectionWrapper, Queue, SimpleQueue

    simple = SimpleQueue(ctx=mp.get_context())
    simple.put(mashal.ones(2))
    assert simple.get().tolist() == [1, 1]
    queue = Queue(ctx=mp.get_context())
    queue.put(3)
    assert queue.get(timeout=10) == 3
    queue.close()
    queue.join_thread()
    here, there = (ConnectionWrapper(c) for c in mp.Pipe())
    here.send(mashal.ones(3))
    assert there.recv().tolist() == [1, 1, 1]
    assert there.poll(0) is False


@CONTEXTS
def test_arguments_of_processes(method):
    context = mp.get_context(method)
    x = mashal.zeros(4).share_memory_()
    model = mashal.nn.Linear(2, 2).share_memory()
    before = model.weight.detach().clone()
    processes = [
        context.Process(target=parts.fill, args=(x[1:], 3)),
        context.Process(target=parts.add_one, args=(model, 2)),
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    assert x.tolist() == [0, 3, 3, 3]
    assert mashal.allclose(model.weight, before + 2)


def test_a_batch_goes_on_to_another_process():
    """A block on loan from a loading process is not sent on: it will be used again."""
    iterator = iter(mashal.utils.data.DataLoader([mashal.full((30000,), float(i)) for i in range(9)], num_workers=1))
    batch = next(iterator)
    copy = through(batch)
    del batch
    assert [int(b[0, 0]) for b in iterator] == list(range(1, 9))
    assert (copy == 0).all()


# ---- groups ----


def test_spawn():
    tensors = [mashal.zeros(2), mashal.zeros(3)]
    mp.spawn(parts.fill_all, args=(tensors, 5), nprocs=2)
    assert [t.tolist() for t in tensors] == [[5, 5], [6, 6, 6]]


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("raise", mp.ProcessRaisedException, "-- Process 1 terminated with the following error:"),
        ("exit", mp.ProcessExitedException, "process 1 terminated with exit code 7"),
        ("kill", mp.ProcessExitedException, "process 1 terminated with signal SIGKILL"),
    ],
)
def test_failures(how, error, text):
    group = mp.start_processes(parts.fail, args=(how,), nprocs=2, join=False, start_method="fork")
    assert len(group.pids()) == 2
    with pytest.raises(error, match=text) as caught:
        while not group.join(timeout=20, grace_period=0.1):
            pass
    assert caught.value.error_index == 1
    assert caught.value.error_pid == group.pids()[1]
    assert not any(process.is_alive() for process in group.processes)
    assert not any(os.path.exists(name) for name in group.error_files)
    if how == "raise":
        assert "broken on purpose" in str(caught.value)
        assert "Traceback" in str(caught.value)
    else:
        assert caught.value.exit_code == {"exit": 7, "kill": -9}[how]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is error
    assert str(copy) == str(caught.value)
    assert copy.error_pid == caught.value.error_pid


def test_join_returns():
    group = mp.start_processes(parts.fill_all, args=([mashal.zeros(1)], 1), join=False, start_method="fork")
    while not group.join(timeout=10):
        pass
    assert group.join() is True
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(parts.total, nprocs=0, start_method="fork")
    with pytest.warns(UserWarning, match="renamed to ProcessContext"):
        mp.SpawnContext([], [])


def test_numpy_sees_shared_memory():
    x = mashal.zeros(3).share_memory_()
    array = x.numpy()
    process = mp.get_context("fork").Process(target=parts.fill, args=(x, 2))
    process.start()
    process.join(20)
    assert np.array_equal(array, [2, 2, 2])
