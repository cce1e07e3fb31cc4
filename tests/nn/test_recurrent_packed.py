"""Packed sequences against torch: packing, padding, and recurrent layers over them."""

import pytest
import torch
from nn_helpers import assert_close, assert_same_outcome, convert, seed, to_mashal

import mashal

ours_rnn, theirs_rnn = mashal.nn.utils.rnn, torch.nn.utils.rnn


def same_packed(a, b, **closeness):
    assert type(a).__name__ == type(b).__name__ == "PackedSequence"
    for p, q in zip(a, b, strict=True):
        assert (p is None) == (q is None)
        if q is not None:
            assert_close(p, q, **closeness)


def both(fn):
    return fn(mashal, ours_rnn), fn(torch, theirs_rnn)


def data(m, *shape):
    n = torch.Size(shape).numel()
    return m.arange(float(n)).reshape(shape)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[4, 4, 1], [1, 4, 2], [3, 2, 1], [4, 4, 4], [2, 2, 2]], ids=str)
@pytest.mark.parametrize("rest", [(), (2,), (2, 3)], ids=str)
def test_pack_and_pad(batch_first, lengths, rest):
    falling = lengths == sorted(lengths, reverse=True)
    lead = (3, 4) if batch_first else (4, 3)

    def packed(m, rnn):
        return rnn.pack_padded_sequence(data(m, *lead, *rest), lengths, batch_first, enforce_sorted=falling)

    def lengths_tensor(m, rnn):
        n = m.tensor(lengths)
        return rnn.pack_padded_sequence(data(m, *lead, *rest), n, batch_first, enforce_sorted=False)

    same_packed(*both(packed))
    same_packed(*both(lengths_tensor))
    for options in ({}, {"padding_value": -1.0}, {"total_length": 6}):
        a, b = both(lambda m, rnn, o=options: rnn.pad_packed_sequence(packed(m, rnn), batch_first, **o))
        assert_close(a, b)
    a, b = both(lambda m, rnn: tuple(rnn.unpack_sequence(packed(m, rnn))))
    assert_close(a, b)


def test_gradients():
    def run(m, rnn):
        x = data(m, 4, 3, 2).requires_grad_()
        p = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        y, _ = rnn.pad_packed_sequence(p, total_length=5)
        (y * data(m, 5, 3, 2)).sum().backward()
        return x.grad

    assert_close(*both(run))


def test_sequences():
    def sequences(m):
        return [data(m, n, 2) for n in (4, 2, 2)]

    same_packed(*both(lambda m, rnn: rnn.pack_sequence(sequences(m))))
    same_packed(*both(lambda m, rnn: rnn.pack_sequence(sequences(m)[::-1], enforce_sorted=False)))
    a, b = both(lambda m, rnn: tuple(rnn.unpack_sequence(rnn.pack_sequence(sequences(m)[::-1], enforce_sorted=False))))
    assert_close(a, b)


def test_packed_sequence():
    p, q = both(lambda m, rnn: rnn.pack_padded_sequence(data(m, 4, 3), [2, 4, 1], enforce_sorted=False))
    same_packed(p.double(), q.double())
    for name in ("half", "float", "long", "int", "short", "char", "byte"):
        same_packed(getattr(p, name)(), getattr(q, name)())
    assert p.to(mashal.float32) is p
    assert p.cpu() is p
    assert not p.is_cuda
    assert not p.is_pinned()
    assert tuple(p._fields) == tuple(q._fields)
    assert isinstance(p, tuple)
    same_packed(
        ours_rnn.PackedSequence((p.data, p.batch_sizes), sorted_indices=p.sorted_indices),
        theirs_rnn.PackedSequence((q.data, q.batch_sizes), sorted_indices=q.sorted_indices),
    )
    assert ours_rnn.invert_permutation(None) is None
    assert_close(
        ours_rnn.invert_permutation(mashal.tensor([2, 0, 1])), theirs_rnn.invert_permutation(torch.tensor([2, 0, 1]))
    )


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("RNN", {}),
        ("GRU", {"num_layers": 2, "bidirectional": True}),
        ("LSTM", {"bidirectional": True}),
        ("LSTM", {"num_layers": 2, "bias": False, "batch_first": True}),
        ("LSTM", {"num_layers": 2, "proj_size": 3, "bidirectional": True}),
    ],
    ids=str,
)
@pytest.mark.parametrize("hidden", [5, 70])
@pytest.mark.parametrize("lengths", [[7, 7, 3, 3, 1], [2, 9, 4, 1, 9]], ids=str)
def test_layers(kind, options, hidden, lengths):
    seed()
    theirs = getattr(torch.nn, kind)(4, hidden, dtype=torch.float64, **options)
    ours = getattr(mashal.nn, kind)(4, hidden, dtype=mashal.float64, **options)
    ours.load_state_dict({k: to_mashal(v) for k, v in theirs.state_dict().items()})
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    x = torch.randn(max(lengths), 5, 4, dtype=torch.float64, requires_grad=True)
    h = torch.randn(count, 5, options.get("proj_size") or hidden, dtype=torch.float64, requires_grad=True)
    c = torch.randn(count, 5, hidden, dtype=torch.float64, requires_grad=True)
    falling = lengths == sorted(lengths, reverse=True)
    for given in (False, True):
        sides = []
        for m, rnn, net, (X, H, C) in (
            (mashal, ours_rnn, ours, convert((x, h, c), requires_grad=True)),
            (torch, theirs_rnn, theirs, (x, h, c)),
        ):
            hx = ((H, C) if kind == "LSTM" else H) if given else None
            out, last = net(rnn.pack_padded_sequence(X, lengths, enforce_sorted=falling), hx)
            outs = [out.data, *(last if kind == "LSTM" else [last])]
            leaves = [X, *net.parameters(), *([H, C] if kind == "LSTM" else [H] if given else [])][
                : None if given else 1 + len(list(net.parameters()))
            ]
            weights = [m.linspace(-1, 1, t.numel(), dtype=m.float64).reshape(t.shape) for t in outs]
            grads = m.autograd.grad(outs, leaves, weights)
            sides.append((out, tuple(outs) + tuple(grads)))
        same_packed(sides[0][0], sides[1][0], rtol=1e-10, atol=1e-10)
        assert_close(sides[0][1], sides[1][1], rtol=1e-10, atol=1e-10)


def test_second_derivatives():
    seed()
    theirs = torch.nn.LSTM(2, 3, bidirectional=True, dtype=torch.float64)
    ours = mashal.nn.LSTM(2, 3, bidirectional=True, dtype=mashal.float64)
    ours.load_state_dict({k: to_mashal(v) for k, v in theirs.state_dict().items()})
    x = torch.randn(4, 3, 2, dtype=torch.float64, requires_grad=True)
    results = []
    for m, rnn, net, X in ((mashal, ours_rnn, ours, to_mashal(x, True)), (torch, theirs_rnn, theirs, x)):
        out, _ = net(rnn.pack_padded_sequence(X, [4, 2, 1]))
        (g,) = m.autograd.grad(out.data.sin().sum(), X, create_graph=True)
        results.append(m.autograd.grad((g * g).sum(), [X, *net.parameters()]))
    assert_close(*results, rtol=1e-9, atol=1e-9)


def test_dropout_draws_as_torch():
    seed()
    theirs = torch.nn.GRU(4, 5, 2, dropout=0.5)
    seed()
    ours = mashal.nn.GRU(4, 5, 2, dropout=0.5)
    x = torch.randn(6, 3, 4)
    seed(1)
    a = ours(ours_rnn.pack_padded_sequence(to_mashal(x), [6, 3, 2]))[0]
    seed(1)
    b = theirs(theirs_rnn.pack_padded_sequence(x, [6, 3, 2]))[0]
    same_packed(a, b)


MISTAKES = [
    (lambda m, r: r.pack_padded_sequence(data(m, 4, 3), [4, 3]), True),
    (lambda m, r: r.pack_padded_sequence(data(m, 4, 3), [4, 3, 0]), True),
    (lambda m, r: r.pack_padded_sequence(data(m, 4, 3), [3, 4, 2]), True),
    (lambda m, r: r.pack_padded_sequence(data(m, 4, 3), m.tensor([[3, 2, 1]])), True),
    (lambda m, r: r.pack_padded_sequence(data(m, 4, 3), []), True),
    (lambda m, r: r.pack_padded_sequence(m.zeros(4, 0, 2), []), True),
    (lambda m, r: r.pack_sequence([m.zeros(2), m.zeros(3)]), True),
    (lambda m, r: r.pack_sequence([]), False),
    (lambda m, r: r.pad_packed_sequence(r.pack_sequence([m.zeros(3), m.zeros(2)]), total_length=2), True),
    (lambda m, r: m._VF._pad_packed_sequence(data(m, 4), m.tensor([2, 1, 1]), True, 0.0, 1), True),
    (lambda m, r: r.PackedSequence(3), True),
    (lambda m, r: m.nn.LSTM(3, 4)(r.PackedSequence(m.zeros(5, 2), m.tensor([3, 2]))), False),
    (lambda m, r: m.nn.GRU(3, 4)(r.PackedSequence(m.zeros(5, 3), m.tensor([3, 2])), m.zeros(1, 2, 4)), True),
    (lambda m, r: m.nn.GRU(3, 4)(r.PackedSequence(m.zeros(5, 3), m.tensor([2, 2, 2]))), False),
]


@pytest.mark.parametrize("case", range(len(MISTAKES)))
def test_mistakes(case):
    call, same_message = MISTAKES[case]
    assert_same_outcome(lambda: call(mashal, ours_rnn), lambda: call(torch, theirs_rnn), message=same_message)


def test_lengths_beyond_the_input():
    """PyTorch returns batch sizes that do not fit the data."""
    with pytest.raises(RuntimeError, match="no length may be above"):
        ours_rnn.pack_padded_sequence(data(mashal, 4, 3), [5, 4, 2])
    with pytest.raises(RuntimeError, match="must not grow"):
        mashal.nn.GRU(3, 4)(ours_rnn.PackedSequence(mashal.zeros(5, 3), mashal.tensor([2, 3])), mashal.zeros(1, 2, 4))
