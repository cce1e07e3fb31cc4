"""Every layer against torch's: text, state, initial values, output and gradients for the same seed."""

import copy

import pytest
import torch
from layer_cases import LAYERS, label, make
from nn_helpers import assert_close, convert, seed

import mashal
from mashal import nn


def build(case):
    """The layer of torch and ours, each made right after seeding."""
    name, args, kwargs, _ = case
    seed(7)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    seed(7)
    ours = getattr(nn, name)(*convert(args), **convert(kwargs))
    return ours, theirs


def inputs(case):
    generator = torch.Generator().manual_seed(11)
    theirs = [make(r, generator) if isinstance(r, tuple) else r for r in case[3]]
    if case[0] == "CTCLoss":
        theirs[0] = theirs[0].log_softmax(2).detach().requires_grad_()
    return convert(theirs, requires_grad=True), theirs


def first(value):
    return value[0] if isinstance(value, tuple) else value


CALLED = [case for case in LAYERS if case[3] is not None]


@pytest.mark.parametrize("case", LAYERS, ids=label)
def test_text_and_state(case):
    ours, theirs = build(case)
    assert repr(ours) == repr(theirs)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    for key, value in other.items():
        assert_close(mine[key], value, rtol=0, atol=0)
    assert mine._metadata == other._metadata
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert [n for n, _ in ours.named_buffers()] == [n for n, _ in theirs.named_buffers()]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("case", CALLED, ids=label)
def test_output_and_gradients(case, training):
    ours, theirs = build(case)
    ours.train(training)
    theirs.train(training)
    args, expected_args = inputs(case)
    seed(3)
    out = ours(*args)
    seed(3)
    expected = theirs(*expected_args)
    assert_close(out, expected)
    result, wanted = first(out), first(expected)
    if wanted.requires_grad:
        weights = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(5))
        (wanted * weights).sum().backward()
        (result * convert(weights)).sum().backward()
        for a, b in zip(args, expected_args, strict=True):
            if b.grad is not None:
                assert_close(a.grad, b.grad)
        for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
            assert (a.grad is None) == (b.grad is None), name
            if b.grad is not None:
                assert_close(a.grad, b.grad)
    else:
        assert not result.requires_grad
    for a, b in zip(ours.buffers(), theirs.buffers(), strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("case", CALLED, ids=label)
def test_state_is_loaded_into_another_instance_and_copies_agree(case):
    ours, _ = build(case)
    seed(99)
    other = getattr(nn, case[0])(*convert(case[1]), **convert(case[2]))
    assert repr(other.load_state_dict(ours.state_dict())) == "<All keys matched successfully>"
    clone = copy.deepcopy(ours)
    args, _ = inputs(case)
    results = []
    for layer in (ours, other, clone):
        seed(3)
        with mashal.no_grad():
            results.append(first(layer(*copy.deepcopy(args))))
    for result in results[1:]:
        assert mashal.allclose(results[0], result, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "name",
    # The two deprecated classes have no signature of their own in torch.
    [n for n in torch.nn.modules.__all__ if hasattr(nn, n) and n not in ("Container", "NLLLoss2d")],
)
def test_signature_is_torchs(name):
    import inspect

    def parameters(cls):
        return [
            (p.name, p.kind, getattr(p.default, "__name__", str(p.default)))
            for p in inspect.signature(cls).parameters.values()
        ]

    assert parameters(getattr(nn, name)) == parameters(getattr(torch.nn, name))


CONV_TRANSPOSE = [(1, (7,)), (2, (5, 6)), (3, (3, 4, 3))]


@pytest.mark.parametrize(("n", "size"), CONV_TRANSPOSE)
def test_transposed_convolution_reaches_every_size(n, size):
    seed(1)
    theirs = getattr(torch.nn, f"ConvTranspose{n}d")(2, 3, 3, stride=3, padding=1)
    ours = getattr(nn, f"ConvTranspose{n}d")(2, 3, 3, stride=3, padding=1)
    ours.load_state_dict(convert(dict(theirs.state_dict())))
    x = torch.randn(2, 2, *size)
    smallest = theirs(x).shape[2:]
    for extra in range(3):
        wanted = [s + extra for s in smallest]
        for output_size in (wanted, [2, 3, *wanted]):
            assert_close(ours(convert(x), output_size=output_size), theirs(x, output_size=output_size))
    with pytest.raises(ValueError, match="valid sizes range"):
        ours(convert(x), output_size=[s + 3 for s in smallest])
    with pytest.raises(ValueError, match=r"must have \d or \d elements"):
        ours(convert(x), output_size=[9] * (n + 1))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_inverts_pooling(n):
    x = torch.randn(2, 3, *(6, 8, 4)[:n], requires_grad=True)
    pool = getattr(torch.nn, f"MaxPool{n}d")(2, return_indices=True)
    values, indices = pool(x)
    values = values.detach().requires_grad_()
    theirs = getattr(torch.nn, f"MaxUnpool{n}d")(2)
    ours = getattr(nn, f"MaxUnpool{n}d")(2)
    assert repr(ours) == repr(theirs)
    for size in (None, x.shape, x.shape[2:]):
        a = convert(values, requires_grad=True)
        b = values.detach().clone().requires_grad_()
        result, wanted = ours(a, convert(indices), output_size=size), theirs(b, indices, output_size=size)
        assert_close(result, wanted)
        (result * result).sum().backward()
        (wanted * wanted).sum().backward()
        assert_close(a.grad, b.grad)


def test_cross_map_normalisation_is_local_response_normalisation_for_odd_sizes():
    # torch's own CrossMapLRN2d keeps the first channel in later windows, against its formula.
    x = torch.randn(2, 7, 4, 3)
    a, b = convert(x).requires_grad_(), x.clone().requires_grad_()
    out = nn.CrossMapLRN2d(5, alpha=0.3, k=2)(a)
    expected = torch.nn.LocalResponseNorm(5, alpha=0.3, k=2)(b)
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(a.grad, b.grad)
    with pytest.raises(ValueError, match="4D"):
        nn.CrossMapLRN2d(3)(mashal.zeros(2, 3))
