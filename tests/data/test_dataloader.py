"""The loader against PyTorch's: batches, random streams, exclusions and warnings."""

import pickle
import warnings

import pytest
import torch
import torch.utils.data

import mashal
import mashal.utils.data

LIBS = (mashal, torch)
each = pytest.mark.parametrize("lib", LIBS, ids=["mashal", "torch"])


def stream(lib, count, length=None):
    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

        def __repr__(self):
            return "Stream()"

        if length is not None:

            def __len__(self):
                return length

    return Stream()


def plain(value):
    if isinstance(value, (mashal.Tensor, torch.Tensor)):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


OPTIONS = [
    {},
    {"batch_size": 4},
    {"batch_size": 4, "drop_last": True},
    {"batch_size": 3, "shuffle": True},
    {"batch_size": None},
    {"batch_size": None, "shuffle": True},
    {"batch_size": 3, "sampler": [5, 1, 2, 0]},
    {"batch_sampler": [[0, 1], [5], [2, 3, 4]]},
    {"batch_size": 4, "collate_fn": list},
    {"batch_size": 100, "shuffle": True},
]


@pytest.mark.parametrize("own_generator", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_passes(options, own_generator):
    results = []
    for lib in LIBS:
        lib.manual_seed(11)
        generator = lib.Generator().manual_seed(5) if own_generator else None
        data = lib.utils.data.TensorDataset(lib.arange(30).reshape(10, 3), lib.arange(10) / 4)
        loader = lib.utils.data.DataLoader(data, generator=generator, **options)
        passes = [(plain(list(loader)), lib.rand(2).tolist()) for _ in range(2)]
        iter(loader)
        results.append((passes, len(loader), lib.rand(2).tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("length", [None, 7, 12])
@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}, {"batch_size": 12}]
)
def test_streams(options, length):
    results = []
    for lib in LIBS:
        loader = lib.utils.data.DataLoader(stream(lib, 12, length), **options)
        count = None if length is None else len(loader)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            batches = plain(list(loader))
        messages = [str(w.message) for w in seen]
        results.append((count, batches, messages))
    assert results[0] == results[1]


@each
def test_get_items_is_used(lib):
    class Batches(lib.utils.data.Dataset):
        def __getitem__(self, i):
            raise AssertionError

        def __getitems__(self, indices):
            return [10 * i for i in indices]

        def __len__(self):
            return 5

    batches = [b.tolist() for b in lib.utils.data.DataLoader(Batches(), 2)]
    assert batches == [[0, 10], [20, 30], [40]]


@each
def test_two_passes_at_once(lib):
    loader = lib.utils.data.DataLoader(range(4), 2)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(loader, loader, strict=True)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3])]


@each
def test_attributes(lib):
    data = range(4)
    loader = lib.utils.data.DataLoader(data, 2, shuffle=True)
    assert loader.dataset is data
    assert isinstance(loader.sampler, lib.utils.data.RandomSampler)
    assert isinstance(loader.batch_sampler, lib.utils.data.BatchSampler)
    assert (loader.batch_size, loader.drop_last, loader.num_workers) == (2, False, 0)
    assert loader.collate_fn is lib.utils.data.default_collate
    assert lib.utils.data.DataLoader(data, None).collate_fn is lib.utils.data.default_convert
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, 1)
    loader.note = "free"
    assert lib.utils.data.get_worker_info() is None


BAD = [
    {"batch_size": 0},
    {"batch_size": True},
    {"batch_size": 1.5},
    {"drop_last": 1},
    {"sampler": [1], "shuffle": True},
    {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "shuffle": True},
    {"batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"prefetch_factor": -1, "num_workers": 1},
    {"persistent_workers": True},
    {"multiprocessing_context": "fork"},
    {"multiprocessing_context": "x", "num_workers": 1},
    {"multiprocessing_context": 3, "num_workers": 1},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_options(options):
    found = []
    for lib in LIBS:
        with pytest.raises(Exception) as error:
            lib.utils.data.DataLoader(range(4), **options)
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=str)
def test_bad_options_of_streams(options):
    found = []
    for lib in LIBS:
        with pytest.raises(ValueError) as error:
            lib.utils.data.DataLoader(stream(lib, 3), **options)
        found.append(str(error.value))
    assert found[0] == found[1]


@each
def test_streams_without_shuffle_may_say_so(lib):
    assert len(list(lib.utils.data.DataLoader(stream(lib, 3), shuffle=False))) == 3


def test_timeout_needs_processes():
    for lib in LIBS:
        with pytest.raises(AssertionError, match="requires timeout == 0"):
            iter(lib.utils.data.DataLoader(range(4), timeout=3))


@each
def test_iterators_cannot_be_pickled(lib):
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(lib.utils.data.DataLoader(range(4))))


@each
def test_pin_memory_warns_without_a_device(lib):
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        list(lib.utils.data.DataLoader(range(4), pin_memory=True))


def test_rows_are_taken_as_samples_are():
    """Datasets of tensors are indexed batch by batch, with the same result as sample by sample."""
    data = mashal.utils.data
    images = mashal.rand(10, 3, 4, 5).to(memory_format=mashal.channels_last)
    whole = data.TensorDataset(images, mashal.arange(10), mashal.rand(20, 2)[::2], mashal.ones(10).bool())
    part = data.Subset(data.Subset(whole, [9, 8, 7, 1, 0, -1]), [5, 0, 0, 2])
    for dataset, indices in ((whole, [0, 3, 3, 9]), (whole, [-1, 2]), (part, [3, 0, 1]), (part, [-1])):
        (batch,) = data.DataLoader(dataset, batch_sampler=[indices])
        expected = data.default_collate([dataset[i] for i in indices])
        assert type(batch) is type(expected)
        for one, other in zip(batch, expected, strict=True):
            assert one.dtype == other.dtype
            assert one.stride() == other.stride()
            assert mashal.equal(one, other)
    for lib in LIBS:
        loader = lib.utils.data.DataLoader(lib.utils.data.TensorDataset(lib.ones(3)), batch_sampler=[[1, 3]])
        with pytest.raises(IndexError):
            list(loader)
    tracked = data.TensorDataset(mashal.ones(3, requires_grad=True))
    (batch,) = next(iter(data.DataLoader(tracked, batch_size=2)))
    assert batch.requires_grad
