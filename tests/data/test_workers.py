"""Worker processes and threads against PyTorch's: seeds, order, streams, exceptions."""

import multiprocessing
import random
import warnings
from collections import namedtuple

import loading_parts
import numpy as np
import pytest
import torch
import torch.utils.data

import mashal
import mashal.utils.data

LIBS = (mashal, torch)
METHODS = pytest.mark.parametrize("method", ["multiprocessing", "thread"])
Pair = namedtuple("Pair", "x y")


def plain(value):
    if isinstance(value, (mashal.Tensor, torch.Tensor)):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, plain(tuple(value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def randoms(lib, count=11):
    """Samples that tell everything a worker knows, and its random numbers."""

    class Randoms(lib.utils.data.Dataset):
        def __getitem__(self, index):
            info = lib.utils.data.get_worker_info()
            return {
                "index": index,
                "worker": (info.id, info.num_workers, info.seed, info.dataset is self),
                "seed": lib.initial_seed(),
                "lib": lib.rand(2),
                "random": random.random(),
                "numpy": np.random.rand(2),  # noqa: NPY002 - the global stream is what is tested
                "threads": lib.get_num_threads(),
            }

        def __len__(self):
            return count

    return Randoms()


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2},
        {"num_workers": 3, "shuffle": True, "batch_size": 2, "persistent_workers": True},
        {"num_workers": 2, "batch_size": 3, "drop_last": True, "prefetch_factor": 1, "shuffle": True},
        {"num_workers": 1, "batch_size": None, "shuffle": True},
        {"num_workers": 2, "batch_sampler": [[0, 1], [5], [2, 3, 4]]},
        {"num_workers": 2, "sampler": [5, 1, 2, 0], "batch_size": 2, "collate_fn": list},
    ],
    ids=str,
)
def test_seeds_and_order(options):
    results = []
    own_generator = options.get("batch_size") == 2
    for lib in LIBS:
        lib.manual_seed(11)
        generator = lib.Generator().manual_seed(5) if own_generator else None
        loader = lib.utils.data.DataLoader(randoms(lib), generator=generator, **options)
        results.append(([plain(list(loader)) for _ in range(2)], lib.rand(2).tolist()))
        del loader
    assert results[0] == results[1]


def test_numpy_seed_is_that_of_torch():
    from torch.utils.data._utils.worker import _generate_state

    from mashal.utils.data._utils.worker import _numpy_state

    for base, worker in ((0, 0), (1, 3), (2**63 - 1, 7), (8413214091820198, 1)):
        assert _numpy_state(base, worker).tolist() == _generate_state(base, worker)


def shards(lib, counts, length=None, fail=False):
    """A stream of which worker i makes ``counts[i]`` samples."""

    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            worker = lib.utils.data.get_worker_info().id
            for i in range(counts[worker]):
                yield 100 * worker + i

        def __repr__(self):
            return "Stream()"

        if length is not None:

            def __len__(self):
                return length

    return Stream()


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("counts", [(9, 2, 4), (0, 0, 0), (0, 7, 1), (4, 4, 4)])
@pytest.mark.parametrize(
    "options",
    [{"batch_size": 2}, {"batch_size": 2, "drop_last": True, "persistent_workers": True}, {"batch_size": None}],
    ids=str,
)
def test_streams(counts, options):
    results = []
    for lib in LIBS:
        loader = lib.utils.data.DataLoader(shards(lib, counts), num_workers=3, **options)
        results.append([plain(list(loader)) for _ in range(2)])
        if lib is mashal:
            threads = lib.utils.data.DataLoader(shards(lib, counts), num_workers=3, worker_method="thread", **options)
            assert [plain(list(threads)) for _ in range(2)] == results[0]
    assert results[0] == results[1]


@METHODS
def test_length_warning(method):
    messages = []
    for lib in LIBS:
        more = {"worker_method": method} if lib is mashal else {}
        loader = lib.utils.data.DataLoader(shards(lib, (3, 3), length=4), num_workers=2, **more)
        assert len(loader) == 4
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            list(loader)
        messages.append([str(w.message) for w in seen])
    assert messages[0] == messages[1]
    assert len(messages[0]) == 2


@METHODS
def test_any_order(method):
    loader = mashal.utils.data.DataLoader(
        loading_parts.Numbers(), batch_size=3, num_workers=2, in_order=False, worker_method=method
    )
    for _ in range(2):
        assert sorted(i for batch in loader for i in batch[0].tolist()) == list(range(20))
    kept = mashal.utils.data.DataLoader(
        shards(mashal, (5, 1)), num_workers=2, in_order=False, worker_method=method, persistent_workers=True
    )
    for _ in range(3):
        assert sorted(x.item() for x in kept) == [0, 1, 2, 3, 4, 100]


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_start_methods(context):
    results = []
    for how in ("fork", multiprocessing.get_context(context)):
        mashal.manual_seed(3)
        loader = mashal.utils.data.DataLoader(
            loading_parts.Numbers(count=6, size=5000),
            batch_size=3,
            shuffle=True,
            num_workers=1,
            multiprocessing_context=how,
            worker_init_fn=loading_parts.name_seed,
        )
        batches = list(loader)
        assert all(batch[1].is_shared() for batch in batches)
        results.append([plain([index, rows[:, 0], *numbers]) for index, rows, *numbers, _ in batches])
    assert results[0] == results[1]


def test_unpicklable_dataset():
    loader = mashal.utils.data.DataLoader(
        [1, 2], num_workers=1, collate_fn=lambda b: b, multiprocessing_context="spawn"
    )
    with pytest.warns(UserWarning, match="cannot be pickled"), pytest.raises((AttributeError, TypeError)):
        iter(loader)


# ---- exceptions ----


class TwoArgumentsError(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def _key():
    return {}["no\nsuch key"]


def _two():
    raise TwoArgumentsError(1, 2)


def _value():
    raise ValueError("wrong value")


def failing(lib, place, error, **options):
    class Map(lib.utils.data.Dataset):
        def __getitem__(self, index):
            return error() if place == "getitem" and index == 1 else index

        def __len__(self):
            return 3

    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            error()

    def call(*_):
        error()

    return lib.utils.data.DataLoader(
        Stream() if place == "iter" else Map(),
        num_workers=1,
        worker_init_fn=call if place == "init" else None,
        collate_fn=call if place == "collate" else None,
        **options,
    )


@pytest.mark.parametrize("error", [_key, _two, _value], ids=["KeyError", "two", "ValueError"])
def test_exceptions(error):
    seen = []
    for lib in LIBS:
        caught = []
        iterator = iter(failing(lib, "getitem", error))
        for _ in range(4):
            try:
                caught.append(next(iterator).tolist())
            except StopIteration:
                caught.append("end")
            except Exception as e:  # noqa: BLE001
                lines = str(e).splitlines()
                caught.append((type(e), lines[:2], lines[-1], "in " + error.__name__ in str(e)))
        seen.append(caught)
    assert seen[0] == seen[1]
    assert seen[0][0] == [0]
    assert seen[0][2:] == [[2], "end"]


@METHODS
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("place", ["init", "collate", "iter"])
def test_exceptions_elsewhere(place, persistent, method):
    loader = failing(mashal, place, _value, worker_method=method, persistent_workers=persistent)
    kind = "process" if method == "multiprocessing" else "thread"
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"(?s)Caught ValueError in DataLoader worker {kind} 0\..*in _value"):
            next(iter(loader))
        if place == "init":
            break


def test_exception_in_thread():
    class Map(mashal.utils.data.Dataset):
        def __getitem__(self, index):
            return {}["missing"]

        def __len__(self):
            return 3

    loader = mashal.utils.data.DataLoader(Map(), num_workers=2, worker_method="thread")
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker thread 0"):
        list(loader)


def test_batch_that_cannot_be_pickled():
    loader = mashal.utils.data.DataLoader([0, 1], num_workers=1, collate_fn=lambda batch: (x for x in batch))
    with pytest.raises(TypeError, match=r"(?s)Caught TypeError in DataLoader worker process 0.*generator"):
        list(loader)
    recorded = mashal.ones(2, requires_grad=True) * 2
    loader = mashal.utils.data.DataLoader([0], num_workers=1, collate_fn=lambda batch: recorded)
    with pytest.raises(RuntimeError, match=r"(?s)Caught RuntimeError.*non-leaf"):
        list(loader)


# ---- contents ----


class Marked(mashal.Tensor):
    pass


def odd_batch():
    big = mashal.arange(40000, dtype=mashal.float32).reshape(200, 200)
    marked = big.clone().as_subclass(Marked)
    marked.note = "kept"
    return {
        "big": big,
        "row": big[3],
        "column": big[:, 3],
        "transposed": big.t(),
        "expanded": mashal.ones(1).expand(300, 300),
        "bf16": big.bfloat16(),
        "flags": big > 7,
        "complex": mashal.complex(big, big),
        "none": mashal.empty(0, 3),
        "scalar": mashal.tensor(2.5),
        "parameter": mashal.nn.Parameter(big.clone()),
        "leaf": big.clone().requires_grad_(),
        "marked": marked,
        "meta": mashal.empty(3, device="meta"),
        "array": np.arange(30000.0).reshape(2, -1),
        "strided": np.arange(60000)[::2],
        "text": ("a", b"b", None),
        "pair": Pair(big + 1, 2),
        "size": big.shape,
        "dtype": mashal.float32,
        "many": [big[i : i + 30] for i in range(0, 90, 30)],
    }


def test_contents():
    loader = mashal.utils.data.DataLoader([0, 1], num_workers=1, collate_fn=lambda _: odd_batch())
    got = list(loader)
    wanted = odd_batch()
    assert len(got) == 2
    for batch in got:
        assert batch.keys() == wanted.keys()
        for key, value in wanted.items():
            if isinstance(value, mashal.Tensor):
                other = batch[key]
                assert type(other) is type(value), key
                assert (other.dtype, other.shape) == (value.dtype, value.shape), key
                assert other.requires_grad == value.requires_grad, key
                if key == "meta":
                    continue
                assert mashal.equal(other.detach(), value.detach()), key
                if key != "column":  # of which only the elements are sent
                    assert other.stride() == value.stride(), key
            else:
                assert plain(batch[key]) == plain(value), key
        assert batch["marked"].note == "kept"
        assert batch["size"] == mashal.Size([200, 200])
        assert batch["dtype"] is mashal.float32
        assert batch["big"].is_shared()
        assert not batch["scalar"].is_shared()
        assert batch["row"].untyped_storage().nbytes() == 800
        batch["array"][:] = 0  # writable
        batch["big"].zero_()


@pytest.mark.parametrize("make", ["subclass", "meta", "grad", "mixed"])
def test_collating_other_tensors(make):
    """In a worker as in this process."""
    ones = {
        "subclass": lambda: mashal.ones(9000).as_subclass(Marked),
        "meta": lambda: mashal.empty(9000, device="meta"),
        "grad": lambda: mashal.ones(9000, requires_grad=True),
        "mixed": lambda: mashal.ones(9000),
    }[make]
    rows = [ones(), ones()]
    if make == "mixed":
        rows[1] = rows[1].double()
    (here,) = mashal.utils.data.DataLoader(rows, batch_size=2)
    if make == "grad":
        with pytest.raises(RuntimeError, match="non-leaf"):
            list(mashal.utils.data.DataLoader(rows, batch_size=2, num_workers=1))
        return
    (there,) = mashal.utils.data.DataLoader(rows, batch_size=2, num_workers=1)
    assert (type(here), here.shape, here.dtype, here.device) == (type(there), there.shape, there.dtype, there.device)


def test_batches_stay_as_they_are():
    """Blocks are used again only when nothing refers to them."""
    kept, views, arrays = [], [], []
    loader = mashal.utils.data.DataLoader(
        loading_parts.Numbers(count=64, size=5000), batch_size=2, num_workers=2, persistent_workers=True
    )
    for _ in range(3):
        for n, batch in enumerate(loader):
            assert (batch[1][:, 0] == mashal.tensor([2 * n, 2 * n + 1])).all()
            if n % 5 == 0:
                kept.append((n, batch[1]))
            elif n % 5 == 1:
                views.append((n, batch[1][1, -3:]))
            elif n % 5 == 2:
                arrays.append((n, batch[1].numpy()))
    for n, t in kept:
        assert (t == mashal.tensor([[2.0 * n], [2.0 * n + 1]])).all()
    for n, t in views:
        assert (t == 2 * n + 1).all()
    for n, a in arrays:
        assert (a == np.array([[2.0 * n], [2.0 * n + 1]])).all()


def test_a_worker_may_keep_its_batch():
    made = []

    def collate(batch):
        out = mashal.utils.data.default_collate(batch)
        made.append(out)
        # What was returned before has not been written to since.
        assert all((t == i).all() for i, t in enumerate(made))
        return out

    rows = [mashal.full((20000,), float(i)) for i in range(12)]
    for i, batch in enumerate(mashal.utils.data.DataLoader(rows, num_workers=1, collate_fn=collate)):
        assert (batch == i).all()
        del batch


def test_a_batch_that_is_sent_again():
    """The loader may hold the same memory by two batches."""
    rows = [mashal.full((20000,), float(i)) for i in range(40)]
    state = {"uses": 0}

    def collate(batch):
        if state["uses"] == 0:
            state.update(uses=2, batch=mashal.utils.data.default_collate(batch))
        state["uses"] -= 1
        return state["batch"] if state["uses"] else state.pop("batch")

    iterator = iter(mashal.utils.data.DataLoader(rows, num_workers=1, collate_fn=collate))
    pending = []
    for i, batch in enumerate(iterator):
        pending.append((i // 2 * 2, batch))
        if i % 2:
            del pending[-2], batch  # the first of the two is given back
        assert all((t == value).all() for value, t in pending)


def test_more_batches_than_blocks(monkeypatch):
    monkeypatch.setattr("mashal.utils.data._utils.blocks.MAX_BLOCKS", 2)
    loader = mashal.utils.data.DataLoader(loading_parts.Numbers(count=30, size=9000), num_workers=2)
    batches = list(loader)
    assert [int(b[1][0, 8999]) for b in batches] == list(range(30))
    assert 4 <= sum(b[1].is_shared() for b in batches) < 30


def test_threads_and_forks_of_a_worker():
    """They may collate, but not talk to the loader."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    def collate(batch):
        one = mashal.utils.data.default_collate(batch)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(mashal.utils.data.default_collate, batch).result()
        if (pid := os.fork()) == 0:
            mashal.utils.data.default_collate(batch)
            os._exit(0)
        os.waitpid(pid, 0)
        return one, other

    rows = [mashal.full((20000,), float(i)) for i in range(5)]
    for i, (one, other) in enumerate(mashal.utils.data.DataLoader(rows, num_workers=1, collate_fn=collate)):
        assert (one == i).all()
        assert (other == i).all()


def test_persistent_workers_after_a_fork():
    import os

    loader = mashal.utils.data.DataLoader(range(4), num_workers=1, persistent_workers=True)
    assert len(list(loader)) == 4
    if (pid := os.fork()) == 0:
        # multiprocessing takes the parent's workers for its own, which a plain fork does not tell it.
        multiprocessing.process._children.clear()
        os._exit(0 if [x.item() for x in loader] == [0, 1, 2, 3] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(list(loader)) == 4


def test_a_forked_child_keeps_its_batch():
    import os

    rows = [mashal.full((20000,), float(i)) for i in range(30)]
    iterator = iter(mashal.utils.data.DataLoader(rows, num_workers=1, prefetch_factor=1))
    batch = next(iterator)
    there, here = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(there, 1)  # until the parent has dropped the batch and read many more
        os._exit(0 if bool((batch == 0).all()) else 1)
    del batch
    assert [int(b[0, 0]) for b in iterator] == list(range(1, 30))
    os.write(here, b"x")
    assert os.waitpid(pid, 0)[1] == 0


def test_sizes_that_change():
    sizes = [1, 300000, 20, 5000, 90000, 700000, 4096, 100] * 6
    rows = [mashal.full((n,), float(i)) for i, n in enumerate(sizes)]
    loader = mashal.utils.data.DataLoader(rows, batch_size=None, shuffle=False, num_workers=2)
    for i, row in enumerate(loader):
        assert row.shape == (sizes[i],)
        assert (row == i).all()


# ---- lives of iterators ----


@METHODS
@pytest.mark.parametrize("persistent", [False, True])
def test_left_early(method, persistent):
    loader = mashal.utils.data.DataLoader(
        loading_parts.Numbers(count=40, size=9000),
        batch_size=2,
        num_workers=2,
        persistent_workers=persistent,
        worker_method=method,
    )
    for stop in (1, 3, 7):
        for n, batch in enumerate(loader):
            assert batch[0].tolist() == [2 * n, 2 * n + 1]
            if n == stop:
                break
    assert [b[0][0].item() for b in loader] == list(range(0, 40, 2))


@METHODS
def test_two_at_once(method):
    loader = mashal.utils.data.DataLoader(loading_parts.Numbers(), num_workers=1, worker_method=method)
    for a, b in zip(loader, loader, strict=True):
        assert a[0] == b[0]


@METHODS
def test_timeout(method):
    loader = mashal.utils.data.DataLoader(loading_parts.Slow(), num_workers=1, timeout=0.3, worker_method=method)
    iterator = iter(loader)
    assert next(iterator).item() == 0
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        next(iterator)
    for worker in iterator._workers:
        if method == "multiprocessing":
            worker.terminate()
    if method == "thread":
        iterator._workers.clear()  # nobody waits for the sleeper


def test_large_indices():
    """Indices and answers that exceed what the socket takes at once."""
    n = 400_000
    loader = mashal.utils.data.DataLoader(range(n), batch_size=n // 4, num_workers=1, collate_fn=list)
    batches = list(loader)
    assert [len(b) for b in batches] == [n // 4] * 4
    assert batches[3][-1] == n - 1


def test_thread_workers_draw_as_processes():
    results = []
    for method in ("multiprocessing", "thread"):
        mashal.manual_seed(7)

        def sample(_, method=method):
            info = mashal.utils.data.get_worker_info()
            rng = info.rng
            own = (random, np.random) if rng is None else (rng.random_generator, rng.numpy_generator)
            assert info.worker_method == method
            assert mashal.get_num_threads() == 1
            return [mashal.rand(2), own[0].random(), own[1].rand(2), mashal.initial_seed(), info.seed]

        loader = mashal.utils.data.DataLoader(
            range(8), num_workers=2, collate_fn=sample, worker_method=method, shuffle=True
        )
        results.append((plain(list(loader)), mashal.rand(2).tolist(), mashal.initial_seed()))
        assert mashal.utils.data.get_worker_info() is None
    assert results[0] == results[1]


def test_thread_init_fn_shards_a_stream():
    class Range(mashal.utils.data.IterableDataset):
        start, end = 0, 10

        def __iter__(self):
            return iter(range(self.start, self.end))

    def shard(worker_id):
        dataset = mashal.utils.data.get_worker_info().dataset
        dataset.start, dataset.end = 5 * worker_id, 5 * worker_id + 5

    for method in ("multiprocessing", "thread"):
        loader = mashal.utils.data.DataLoader(Range(), num_workers=2, worker_init_fn=shard, worker_method=method)
        assert [x.item() for x in loader] == [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]


def test_options():
    build = mashal.utils.data.DataLoader
    with pytest.raises(ValueError, match="worker_method option should be"):
        build([1], num_workers=1, worker_method="processes")
    with pytest.raises(ValueError, match="worker_method='multiprocessing'"):
        build([1], num_workers=1, worker_method="thread", multiprocessing_context="fork")
    with pytest.warns(UserWarning, match="This DataLoader will create 500 worker processes"):
        build([1], num_workers=500).check_worker_number_rationality()
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert [x.item() for x in build([1, 2], num_workers=1, pin_memory=True)] == [1, 2]
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(build([1], num_workers=1, prefetch_factor=0))
