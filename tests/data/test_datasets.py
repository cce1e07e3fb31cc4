"""Datasets and samplers against PyTorch's: samples, random streams, errors."""

import itertools
import tracemalloc
import warnings

import pytest
import torch
import torch.utils.data

import mashal
import mashal.utils.data

LIBS = (mashal, torch)
each = pytest.mark.parametrize("lib", LIBS, ids=["mashal", "torch"])
WORDS = list("abcdefghij")


def stream(lib, items, length=None):
    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            return iter(items)

        if length is not None:

            def __len__(self):
                return length

    return Stream()


def both(make):
    """Return plain values of ``make(lib)``, after checking that the libraries agree, random streams included."""
    results = []
    for lib in LIBS:
        lib.manual_seed(7)
        results.append((make(lib), lib.rand(3).tolist()))
    assert results[0] == results[1]
    return results[0][0]


@each
def test_tensor_dataset(lib):
    data = lib.utils.data.TensorDataset(lib.arange(6).reshape(3, 2), lib.tensor([5, 6, 7]))
    assert len(data) == 3
    x, y = data[1]
    assert (x.tolist(), y.item()) == ([2, 3], 6)
    assert [t.tolist() for t in data[[0, 2]]] == [[[0, 1], [4, 5]], [5, 7]]
    assert [t.tolist() for t in data[:2]] == [[[0, 1], [2, 3]], [5, 6]]


@each
def test_stack_dataset(lib):
    data = lib.utils.data
    assert data.StackDataset(WORDS, range(10))[3] == ("d", 3)
    named = data.StackDataset(word=WORDS, number=data.Subset(range(10), range(9, -1, -1)))
    assert len(named) == 10
    assert named[3] == {"word": "d", "number": 6}
    assert named.__getitems__([0, 2]) == [{"word": "a", "number": 9}, {"word": "c", "number": 7}]


@each
def test_concat_and_chain(lib):
    data = lib.utils.data

    class Words(data.Dataset):
        def __getitem__(self, i):
            return WORDS[i]

        def __len__(self):
            return len(WORDS)

    total = Words() + data.Subset(Words(), [1, 2])
    assert isinstance(total, data.ConcatDataset)
    assert [total[i] for i in (0, 9, 10, 11, -1, -12)] == ["a", "j", "b", "c", "c", "a"]
    assert total.cumulative_sizes == [10, 12]
    chained = stream(lib, [1, 2], 2) + stream(lib, [3], 1)
    assert isinstance(chained, data.ChainDataset)
    assert list(chained) == [1, 2, 3]
    assert len(chained) == 3
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert total.cummulative_sizes == [10, 12]


@each
def test_subset(lib):
    part = lib.utils.data.Subset(WORDS, [4, 2, 0])
    assert list(part) == ["e", "c", "a"]
    assert part.__getitems__([0, 2]) == ["e", "a"]
    tensors = lib.utils.data.TensorDataset(lib.arange(10))
    assert lib.utils.data.Subset(tensors, [4, 2, 0])[[0, 2]][0].tolist() == [4, 0]

    class Upper(lib.utils.data.Subset):
        def __getitem__(self, i):
            return super().__getitem__(i).upper()

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Upper(WORDS, [0])


@pytest.mark.parametrize("lengths", [[3, 7], [10], [0.5, 0.5], [0.33, 0.33, 0.34], [0.25, 0.75], [0.9, 0.1, 0.0]])
def test_random_split(lengths):
    def split(lib):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            parts = lib.utils.data.random_split(WORDS, lengths)
            again = lib.utils.data.random_split(WORDS, lengths, lib.Generator().manual_seed(3))
        return [list(p.indices) for p in (*parts, *again)], [str(w.message) for w in seen]

    both(split)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_samples": 3},
        {"num_samples": 25},
        {"replacement": True},
        {"replacement": True, "num_samples": 75},
        {"replacement": True, "num_samples": 64},
    ],
)
@pytest.mark.parametrize("own_generator", [False, True])
def test_random_sampler(options, own_generator):
    def draw(lib):
        generator = lib.Generator().manual_seed(5) if own_generator else None
        sampler = lib.utils.data.RandomSampler(WORDS, generator=generator, **options)
        return list(sampler), list(sampler), len(sampler)

    both(draw)


def test_endless_random_sampler():
    """Programs ask for 10**10 samples to have a loader without an end; nothing may be as long."""

    def draw(lib):
        lib.manual_seed(0)
        sampler = lib.utils.data.RandomSampler(WORDS, replacement=True, num_samples=10**10)
        tracemalloc.start()
        drawn = list(itertools.islice(sampler, 70))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return drawn, peak < 1 << 20

    both(draw)


@pytest.mark.parametrize("own_generator", [False, True])
def test_other_samplers(own_generator):
    def draw(lib):
        data = lib.utils.data
        generator = lib.Generator().manual_seed(5) if own_generator else None
        weights = [0.1, 0.0, 3.0, 1.0, 0.5]
        samplers = [
            data.SequentialSampler(WORDS),
            data.SubsetRandomSampler([4, 8, 1, 1], generator=generator),
            data.WeightedRandomSampler(weights, 20, generator=generator),
            data.WeightedRandomSampler(weights, 4, replacement=False, generator=generator),
            data.BatchSampler(data.RandomSampler(WORDS, generator=generator), 4, drop_last=False),
            data.BatchSampler(data.SequentialSampler(WORDS), 4, drop_last=True),
            data.BatchSampler(data.SequentialSampler(WORDS), 5, drop_last=True),
        ]
        return [(list(s), len(s)) for s in samplers]

    both(draw)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", [10, 2, 9])
def test_distributed_sampler(count, shuffle, drop_last):
    def draw(lib):
        shares = []
        for rank in range(3):
            options = {"num_replicas": 3, "rank": rank, "shuffle": shuffle, "drop_last": drop_last, "seed": 4}
            sampler = lib.utils.data.DistributedSampler(range(count), **options)
            shares.append((list(sampler), len(sampler)))
            sampler.set_epoch(2)
            shares.append(list(sampler))
        return shares

    both(draw)


def failing(lib):
    data = lib.utils.data
    words = data.ConcatDataset([WORDS])
    tensors = lib.ones(2), lib.ones(3)
    return {
        "no __getitem__": lambda: data.Dataset()[0],
        "no length": lambda: len(data.Dataset()),
        "abstract stream": lambda: data.IterableDataset(),
        "sizes": lambda: data.TensorDataset(*tensors),
        "stack of nothing": lambda: data.StackDataset(),
        "stack of both": lambda: data.StackDataset(WORDS, a=WORDS),
        "stack of lengths": lambda: data.StackDataset(WORDS, [1]),
        "concatenation of nothing": lambda: data.ConcatDataset([]),
        "concatenation of streams": lambda: data.ConcatDataset([stream(lib, [1])]),
        "index too large": lambda: words[10],
        "index too small": lambda: words[-11],
        "chain": lambda: list(data.ChainDataset([WORDS])),
        "split lengths": lambda: data.random_split(WORDS, [1, 2]),
        "split fractions": lambda: data.random_split(WORDS, [1.5, -0.5]),
        "random: nothing to sample": lambda: data.RandomSampler([]),
        "random: replacement": lambda: data.RandomSampler(WORDS, replacement=1),
        "random: number": lambda: data.RandomSampler(WORDS, num_samples=0),
        "random: float": lambda: data.RandomSampler(WORDS, num_samples=1.5),
        "weighted: number": lambda: data.WeightedRandomSampler([1.0], True),
        "weighted: replacement": lambda: data.WeightedRandomSampler([1.0], 1, replacement=2),
        "weighted: shape": lambda: data.WeightedRandomSampler([[1.0]], 1),
        "batch size": lambda: data.BatchSampler(range(3), 0, False),
        "batch size bool": lambda: data.BatchSampler(range(3), True, False),
        "batch drop_last": lambda: data.BatchSampler(range(3), 2, 1),
        "sampler": lambda: iter(data.Sampler()).foo,
        "sampler length": lambda: len(data.Sampler()),
        "rank": lambda: data.DistributedSampler(WORDS, 2, 2),
    }


@pytest.mark.parametrize("case", [c for c in failing(mashal) if c != "sampler"])
def test_errors(case):
    found = []
    for lib in LIBS:
        with pytest.raises(Exception) as error:
            failing(lib)[case]()
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]
