"""Recurrent layers and cells against torch: values, gradients, second gradients, options, messages."""

import copy
import pickle

import pytest
import torch
from nn_helpers import assert_close, assert_same_outcome, convert, seed, to_mashal

import mashal

KINDS = ["RNN", "LSTM", "GRU"]
CELLS = ["RNNCell", "LSTMCell", "GRUCell"]


def pair(name, *args, **kwargs):
    """The same layer in both libraries."""
    seed()
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    seed()
    ours = getattr(mashal.nn, name)(*args, **convert(kwargs))
    return ours, theirs


def states(kind, shape, cell_shape=None, dtype=torch.float64):
    h = torch.randn(shape, dtype=dtype, requires_grad=True)
    if not kind.startswith("LSTM"):
        return h
    return h, torch.randn(cell_shape or shape, dtype=dtype, requires_grad=True)


def flat(result):
    """Tensors of a nested result."""
    if isinstance(result, torch.Tensor | mashal.Tensor):
        return [result]
    if hasattr(result, "batch_sizes"):
        return [result.data]
    return [t for part in result for t in flat(part)]


def check(ours, theirs, x, hx=None, order=1, rtol=1.3e-6, atol=1e-5):
    """Results and gradients with respect to input, state and all parameters, ``order`` times over."""
    X, HX = convert(x, requires_grad=True), convert(hx, requires_grad=True)
    sides = []
    for lib, net, args in ((mashal, ours, (X, HX)), (torch, theirs, (x, hx))):
        now = flat(net(*args))
        leaves = flat(args if args[1] is not None else args[:1]) + list(net.parameters())
        stages = [now]
        for level in range(order):
            now = [t for t in now if t.requires_grad]
            generator = torch.Generator().manual_seed(level)
            cotangents = [torch.randn(t.shape, generator=generator, dtype=x.dtype) for t in now]
            if lib is mashal:
                cotangents = [to_mashal(c) for c in cotangents]
            now = list(lib.autograd.grad(now, leaves, cotangents, create_graph=level + 1 < order))
            stages.append(now)
        sides.append(stages)
    for a, b in zip(*sides, strict=True):
        assert_close(tuple(a), tuple(b), rtol=rtol, atol=atol)


# Few and many steps (from three on the weights are packed), and widths on either side of a vector.
SHAPES = [(1, 3, 4, 5), (2, 1, 3, 4), (6, 3, 4, 5), (5, 11, 7, 35)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients(kind, options, shape):
    steps, batch, width, hidden = shape
    ours, theirs = pair(kind, width, hidden, dtype=torch.float64, **options)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    x = torch.randn(steps, batch, width, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states(kind, (count, batch, hidden)), rtol=1e-10, atol=1e-10)
    check(ours, theirs, x, None, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_on_threads(kind):
    """Large enough to be shared between threads: by sequences, by units (one sequence), by directions."""
    for batch, bidirectional in ((20, False), (1, False), (6, True)):
        ours, theirs = pair(kind, 24, 144, bidirectional=bidirectional)
        x = torch.randn(12, batch, 24, requires_grad=True)
        count = 2 if bidirectional else 1
        check(ours, theirs, x, states(kind, (count, batch, 144), dtype=torch.float32), rtol=1e-4, atol=2e-5)


def test_relu():
    ours, theirs = pair("RNN", 4, 5, 2, "relu", dtype=torch.float64)
    assert repr(ours) == repr(theirs)
    x = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, order=2, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("steps", [2, 5])
def test_projection(steps, bidirectional):
    ours, theirs = pair("LSTM", 4, 37, 2, proj_size=3, bidirectional=bidirectional, dtype=torch.float64)
    count = 4 if bidirectional else 2
    x = torch.randn(steps, 6, 4, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states("LSTM", (count, 6, 3), (count, 6, 37)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_first_and_unbatched(kind):
    ours, theirs = pair(kind, 4, 5, batch_first=True, bidirectional=True, dtype=torch.float64)
    x = torch.randn(3, 6, 4, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states(kind, (2, 3, 5)), rtol=1e-10, atol=1e-10)
    a, b = flat(ours(to_mashal(x))), flat(theirs(x))
    assert [t.stride() for t in a] == [t.stride() for t in b]
    one = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, one, states(kind, (2, 5)), rtol=1e-10, atol=1e-10)
    check(*pair(kind, 4, 5, dtype=torch.float64), one, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives(kind, options):
    ours, theirs = pair(kind, 3, 4, dtype=torch.float64, **options)
    count = 4 if options else 1
    x = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states(kind, (count, 2, 4)), order=2, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_third_derivatives_and_projection():
    ours, theirs = pair("LSTM", 3, 4, proj_size=2, dtype=torch.float64)
    x = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states("LSTM", (1, 2, 2), (1, 2, 4)), order=3, rtol=1e-9, atol=1e-9)


def test_gradcheck():
    net = mashal.nn.GRU(2, 3, bidirectional=True, dtype=mashal.float64)
    x = mashal.randn(3, 2, 2, dtype=mashal.float64, requires_grad=True)
    assert mashal.autograd.gradcheck(lambda t: net(t), (x,))
    assert mashal.autograd.gradgradcheck(lambda t: net(t), (x,))


def test_partial_gradients():
    """Only some inputs are differentiated, only some results are used."""
    ours, theirs = pair("LSTM", 3, 4, dtype=torch.float64)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    for pick in (lambda r: r[0][2], lambda r: r[1][0], lambda r: r[1][1]):
        grads = []
        for net, data in ((ours, to_mashal(x)), (theirs, x)):
            net.zero_grad()
            pick(net(data)).sum().backward()
            grads.append(tuple(p.grad for p in net.parameters()))
        assert_close(*grads, rtol=1e-10, atol=1e-10)
    for net in (ours, theirs):
        net.requires_grad_(False)
    check_x = x.clone().requires_grad_()
    mine = to_mashal(check_x, requires_grad=True)
    ours(mine)[0].sum().backward()
    theirs(check_x)[0].sum().backward()
    assert_close(mine.grad, check_x.grad, rtol=1e-10, atol=1e-10)


def test_results_may_be_written():
    net = mashal.nn.LSTM(3, 4)
    out, (h, c) = net(mashal.randn(5, 2, 3))
    out.mul_(0.5)
    h.add_(1)
    c.add_(1)
    (out.sum() + h.sum() + c.sum()).backward()
    assert net.weight_hh_l0.grad is not None


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_draws_as_torch(kind):
    ours, theirs = pair(kind, 6, 8, 3, dropout=0.4, bidirectional=True)
    x = torch.randn(5, 4, 6, requires_grad=True)
    seed(3)
    a = ours(to_mashal(x))
    seed(3)
    b = theirs(x)
    assert_close(tuple(flat(a)), tuple(flat(b)), atol=2e-6)
    ours.eval()
    theirs.eval()
    check(ours, theirs, x, atol=5e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_half_types(kind, dtype):
    """Computed in float32 and rounded at the end: close to the float32 layer of the same weights."""
    seed()
    net = getattr(mashal.nn, kind)(4, 9, bidirectional=True, dtype=getattr(mashal, dtype))
    wide = copy.deepcopy(net).float()
    x = mashal.randn(6, 3, 4).to(getattr(mashal, dtype)).requires_grad_()
    y = x.detach().float().requires_grad_()
    a, b = net(x)[0], wide(y)[0]
    assert a.dtype == x.dtype
    a.sum().backward()
    b.sum().backward()
    for p, q in ((a, b), (x.grad, y.grad), (net.weight_hh_l0.grad, wide.weight_hh_l0.grad)):
        assert p.dtype == x.dtype
        mashal.testing.assert_close(p.float(), q, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("name", KINDS + CELLS)
def test_autocast_types(name):
    """Results have PyTorch's types, whatever the type of the input; gradients that of the weights."""
    for half_input in (False, True):
        types = []
        for m in (mashal, torch):
            net = getattr(m.nn, name)(4, 5)
            x = m.zeros(2, 4) if name in CELLS else m.zeros(3, 2, 4)
            with m.amp.autocast("cpu", dtype=m.bfloat16):
                results = flat(net(x.bfloat16() if half_input else x))
            sum(t.float().sum() for t in results).backward()
            types.append(
                [
                    str(t.dtype).split(".")[-1]
                    for t in [*results, net.weight_hh.grad if name in CELLS else net.weight_hh_l0.grad]
                ]
            )
        assert types[0] == types[1]


@pytest.mark.parametrize("kind", KINDS)
def test_no_sequences(kind):
    ours, theirs = pair(kind, 4, 5, bidirectional=True)
    x = torch.zeros(3, 0, 4, requires_grad=True)
    a, b = ours(to_mashal(x, requires_grad=True)), theirs(x)
    assert [tuple(t.shape) for t in flat(a)] == [tuple(t.shape) for t in flat(b)]
    a[0].sum().backward()
    assert not ours.weight_hh_l0.grad.any()
    assert_same_outcome(lambda: ours(mashal.zeros(0, 2, 4)), lambda: theirs(torch.zeros(0, 2, 4)), message=False)


def test_shapes_without_data():
    net = mashal.nn.LSTM(3, 4, 2, bidirectional=True, device="meta")
    out, (h, c) = net(mashal.zeros(5, 2, 3, device="meta"))
    assert out.shape == (5, 2, 8)
    assert h.shape == c.shape == (4, 2, 4)


# ---- modules ----


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("RNN", (3, 4), {}),
        ("RNN", (3, 4, 2, "relu", False), {}),
        ("LSTM", (3, 4), {"num_layers": 2, "proj_size": 2, "bidirectional": True}),
        ("GRU", (3, 4, 2), {"dropout": 0.1, "batch_first": True, "bias": False}),
        ("RNNCell", (3, 4), {"nonlinearity": "relu"}),
        ("RNNCell", (3, 4, False), {}),
        ("LSTMCell", (3, 4), {}),
        ("GRUCell", (3, 4), {"dtype": torch.float64}),
        ("LSTM", (3, 4), {"device": "cpu"}),
    ],
    ids=str,
)
def test_same_parameters(name, args, kwargs):
    ours, theirs = pair(name, *args, **kwargs)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_close(a, b, rtol=0, atol=0)
    if "Cell" not in name:
        assert ours._all_weights == theirs._all_weights
        assert ours._flat_weights_names == theirs._flat_weights_names
        assert [[tuple(w.shape) for w in ws] for ws in ours.all_weights] == [
            [tuple(w.shape) for w in ws] for ws in theirs.all_weights
        ]


def test_flat_weights_follow():
    net = mashal.nn.LSTM(3, 4)
    net.flatten_parameters()
    x = mashal.randn(5, 2, 3)
    before = net(x)[0]
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert all(a is b for a, b in zip(twin._flat_weights, twin.parameters(), strict=True))
        mashal.testing.assert_close(twin(x)[0], before)
    net.double()
    assert all(w.dtype == mashal.float64 for w in net._flat_weights)
    net.weight_ih_l0 = mashal.nn.Parameter(mashal.zeros(16, 3, dtype=mashal.float64))
    assert net._flat_weights[0] is net.weight_ih_l0
    net.load_state_dict({k: mashal.zeros_like(v) for k, v in net.state_dict().items()})
    assert not net(x.double())[0].any()


@pytest.mark.parametrize("options", [{}, {"bias": False}], ids=str)
@pytest.mark.parametrize("name", CELLS)
def test_cells(name, options):
    ours, theirs = pair(name, 4, 5, dtype=torch.float64, **options)
    for shape, state in (((3, 4), (3, 5)), ((4,), (5,)), ((40, 4), (40, 5))):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        check(ours, theirs, x, states(name, state), order=2, rtol=1e-9, atol=1e-9)
        check(ours, theirs, x, None, rtol=1e-10, atol=1e-10)
    assert_close(tuple(flat(ours(mashal.zeros(0, 4).double()))), tuple(flat(theirs(torch.zeros(0, 4).double()))))


def test_cells_in_a_loop():
    """Backpropagation through time, as sequence predictors are written."""
    ours, theirs = pair("LSTMCell", 1, 6, dtype=torch.float64)
    x = torch.randn(7, 3, 1, dtype=torch.float64, requires_grad=True)

    def loop(cell):
        def run(x, hx=None):
            h = None
            results = []
            for step in x.unbind(0):
                h = cell(step, h)
                results.append(h[0])
            return results

        run.parameters = cell.parameters
        return run

    check(loop(ours), loop(theirs), x, rtol=1e-10, atol=1e-10)


def test_relu_cell():
    ours, theirs = pair("RNNCell", 4, 5, nonlinearity="relu", dtype=torch.float64)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    check(ours, theirs, x, states("RNN", (3, 5)), rtol=1e-10, atol=1e-10)


# ---- functions ----


def test_functions():
    """The forms behind the modules, by position and by name, and where PyTorch's own modules find them."""
    from mashal import _VF

    ours, theirs = pair("LSTM", 3, 4, 2)
    x = torch.randn(5, 2, 3)
    h = torch.zeros(2, 2, 4)
    rest = (True, 2, 0.0, False, False, False)
    expected = torch.lstm(x, (h, h), theirs._flat_weights, *rest)
    X, H = to_mashal(x), to_mashal(h)
    for fn in (mashal.lstm, _VF.lstm):
        assert_close(fn(X, (H, H), ours._flat_weights, *rest), expected)
    names = ("has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
    options = dict(zip(names, rest, strict=True))
    assert_close(mashal.lstm(X, hx=(H, H), params=ours._flat_weights, **options), expected)
    for kind, fn in (("GRU", "gru"), ("RNN", "rnn_tanh")):
        ours, theirs = pair(kind, 3, 4, 2)
        call = getattr(torch, fn)(x, h, theirs._flat_weights, *rest)
        assert_close(getattr(mashal, fn)(X, H, ours._flat_weights, *rest), call)
    ours, theirs = pair("RNN", 3, 4, nonlinearity="relu")
    call = torch.rnn_relu(x, h[:1], theirs._flat_weights, True, 1, 0.0, False, False, False)
    assert_close(mashal.rnn_relu(X, H[:1], ours._flat_weights, True, 1, 0.0, False, False, False), call)
    for name, gates in (("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
        w = torch.randn(4 * gates, 3), torch.randn(4 * gates, 4)
        call = getattr(torch, name)(x[0], h[0], *w)
        assert_close(getattr(_VF, name)(X[0], H[0], *map(to_mashal, w)), call)
    with pytest.raises(AttributeError):
        _ = _VF.no_such_function


def _cell(m, *shapes, name="lstm_cell"):
    x, h, *rest = (m.zeros(*s) for s in shapes)
    return getattr(m, name)(x, (h, h) if name.startswith("lstm") else h, *rest)


# (call with either library, whether the message is PyTorch's)
MISTAKES = [
    (lambda m: m.nn.LSTM(3, 4, dropout=2), True),
    (lambda m: m.nn.LSTM(3, 4, dropout=True), True),
    (lambda m: m.nn.LSTM(3, 4, bias=1), True),
    (lambda m: m.nn.LSTM(3, 4, batch_first=1), True),
    (lambda m: m.nn.LSTM(3.0, 4), True),
    (lambda m: m.nn.LSTM(0, 4), True),
    (lambda m: m.nn.LSTM(3, 4.0), True),
    (lambda m: m.nn.LSTM(3, 0), True),
    (lambda m: m.nn.GRU(3, 4, 0), True),
    (lambda m: m.nn.LSTM(3, 4, proj_size=-1), True),
    (lambda m: m.nn.LSTM(3, 4, proj_size=4), True),
    (lambda m: m.nn.RNN(3, 4, proj_size=2), True),
    (lambda m: m.nn.GRU(3, 4, proj_size=2), True),
    (lambda m: m.nn.RNN(3, 4, nonlinearity="selu"), True),
    (lambda m: m.nn.RNNBase("CNN", 3, 4), True),
    (lambda m: m.nn.LSTM(3, 4, dropout=0.5), True),
    (lambda m: m.nn.RNN(3, 4)(m.zeros(3)), True),
    (lambda m: m.nn.LSTM(3, 4)(m.zeros(3)), True),
    (lambda m: m.nn.GRU(3, 4)(m.zeros(2, 2, 2, 3)), True),
    (lambda m: m.nn.GRU(3, 4)(m.zeros(5, 2, 2)), True),
    (lambda m: m.nn.GRU(3, 4)(m.zeros(5, 2, 3), m.zeros(2, 4)), True),
    (lambda m: m.nn.GRU(3, 4)(m.zeros(5, 3), m.zeros(1, 1, 4)), True),
    (lambda m: m.nn.RNN(3, 4)(m.zeros(5, 2, 3), m.zeros(1, 3, 4)), True),
    (lambda m: m.nn.LSTM(3, 4)(m.zeros(5, 2, 3), (m.zeros(1, 2, 4), m.zeros(2, 2, 4))), True),
    (lambda m: m.nn.LSTM(3, 4)(m.zeros(5, 2, 3), (m.zeros(2, 4), m.zeros(2, 4))), True),
    (lambda m: m.nn.LSTM(3, 4)(m.zeros(5, 3), (m.zeros(1, 1, 4), m.zeros(1, 1, 4))), True),
    (lambda m: m.nn.LSTMCell(3, 4)(m.zeros(1, 2, 3)), True),
    (lambda m: m.nn.LSTMCell(3, 4)(m.zeros(2, 3), (m.zeros(1, 2, 4), m.zeros(2, 4))), True),
    (lambda m: m.nn.GRUCell(3, 4)(m.zeros(2, 3), m.zeros(1, 2, 4)), True),
    (lambda m: m.nn.RNNCell(3, 4, nonlinearity="x")(m.zeros(2, 3)), True),
    (lambda m: m.nn.LSTMCell(3, 4)(m.zeros(2, 5)), True),
    (lambda m: m.nn.LSTMCell(3, 4)(m.zeros(2, 3), (m.zeros(3, 4), m.zeros(2, 4))), True),
    (lambda m: m.nn.LSTMCell(3, 4)(m.zeros(2, 3), (m.zeros(2, 4), m.zeros(3, 4))), True),
    (lambda m: m.nn.GRUCell(3, 4)(m.zeros(2, 3), m.zeros(2, 5)), True),
    (lambda m: m.nn.RNNCell(3, 4)(m.zeros(2, 3).double()), False),
    (lambda m: _cell(m, (2, 4), (2, 5), (20, 4), (19, 5)), True),
    (lambda m: _cell(m, (2, 4), (2, 5), (20, 4), (20, 5), (3,), (20,)), False),
    (lambda m: _cell(m, (2, 4), (2, 5), (15, 4), (15, 5), (15,), (3,), name="gru_cell"), False),
    (lambda m: m.lstm(m.zeros(5, 2, 3), (m.zeros(1, 2, 4),), [], True, 1, 0.0, False, False, False), True),
    (lambda m: m.gru(m.zeros(5, 2, 3)), False),
    (lambda m: m.gru(m.zeros(5, 2, 3), m.zeros(1, 2, 4), [m.zeros(12, 3)], True, 1, 0.0, False, False, False), False),
]


@pytest.mark.parametrize("case", range(len(MISTAKES)))
def test_mistakes(case):
    call, same_message = MISTAKES[case]
    assert_same_outcome(lambda: call(mashal), lambda: call(torch), message=same_message)


def test_other_dtype_names_the_repair():
    with pytest.raises(ValueError, match=r"does not match weight dtype \(mashal.float32\). Convert input: input.to"):
        mashal.nn.LSTM(3, 4)(mashal.zeros(5, 2, 3).double())
