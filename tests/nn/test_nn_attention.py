"""Multi-head attention and transformers, against PyTorch: values, gradients, initial values and drawn numbers."""

import warnings

import numpy as np
import pytest
import torch
from nn_helpers import assert_same_outcome, seed

import mashal

FRAMEWORKS = (torch, mashal)
N, L, S, E = 3, 4, 5, 8


def array(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


PADDING = np.arange(S)[None].repeat(N, 0) >= np.array([S, 2, 3])[:, None]


def run_both(build, run, grads=True, train=True):
    """The same module in both frameworks: text, state, results, gradients of parameters and of the inputs."""
    found = []
    for framework in FRAMEWORKS:
        seed()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of nested tensors once a process
            module = build(framework).train(train)
            inputs = []

            def tensor(a, framework=framework, inputs=inputs):
                t = framework.tensor(a)
                if t.is_floating_point() and grads:
                    inputs.append(t.requires_grad_())
                return t

            seed(1)
            results = run(framework, module, tensor)
        results = results if isinstance(results, tuple) else (results,)
        if grads:
            sum((r * r).sum() for r in results if r is not None).backward()
        found.append(
            (
                repr(module),
                {k: v.numpy() for k, v in module.state_dict().items()},
                [None if r is None else r.detach().numpy() for r in results],
                [None if t.grad is None else t.grad.numpy() for t in (*inputs, *module.parameters())] if grads else [],
            )
        )
    theirs, ours = found
    assert ours[0] == theirs[0]
    assert list(ours[1]) == list(theirs[1])
    for key, value in theirs[1].items():
        np.testing.assert_array_equal(ours[1][key], value)
    for a, b in zip(ours[2] + ours[3], theirs[2] + theirs[3], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)


ATTENTIONS = [
    {},
    {"batch_first": True, "dropout": 0.2},
    {"bias": False, "batch_first": True},
    {"kdim": 5, "vdim": 7},
    {"kdim": 5, "vdim": 7, "batch_first": True, "add_bias_kv": True, "dropout": 0.3},
    {"add_bias_kv": True, "add_zero_attn": True, "dropout": 0.2},
]


@pytest.mark.parametrize("options", ATTENTIONS)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_multihead_attention(options, need_weights, own):
    own = own and "kdim" not in options
    order = (lambda a: a) if options.get("batch_first") else (lambda a: a.swapaxes(0, 1).copy())
    query = array(N, L, E)
    keys = L if own else S
    pads = np.arange(keys)[None].repeat(N, 0) >= np.array([keys, 2, 3])[:, None]
    masks = [
        {},
        {"attn_mask": np.random.default_rng(0).random((L, keys)) < 0.3},
        {"attn_mask": array(N * 2, L, keys), "average_attn_weights": False},
        {"key_padding_mask": pads},
        {"attn_mask": array(L, keys), "key_padding_mask": array(N, keys), "average_attn_weights": False},
    ]
    if own:
        masks.append({"attn_mask": np.triu(np.full((L, L), -np.inf, "float32"), 1), "is_causal": True})
    for mask in masks:

        def run(framework, module, tensor, mask=mask):
            q = tensor(order(query))
            k, v = (q, q)
            if not own:
                k = tensor(order(array(N, S, options.get("kdim", E))))
                v = tensor(order(array(N, S, options.get("vdim", E))))
            extra = {k: framework.tensor(m) if isinstance(m, np.ndarray) else m for k, m in mask.items()}
            return module(q, k, v, need_weights=need_weights, **extra)

        run_both(lambda framework: framework.nn.MultiheadAttention(E, 2, **options), run)


def test_shared_keys_and_values_and_unbatched_input():
    def shared(framework, module, tensor):
        memory = tensor(array(S, N, E))
        return module(tensor(array(L, N, E)), memory, memory, need_weights=False)

    def unbatched(framework, module, tensor):
        x = tensor(array(L, E))
        return module(x, x, x, key_padding_mask=framework.tensor([False, False, True, False]))

    def frozen_mask(framework, module, tensor):
        x = tensor(array(L, N, E))
        return module(x, x, x, attn_mask=tensor(array(L, L)), need_weights=False)

    for run in (shared, unbatched, frozen_mask):
        run_both(lambda framework: framework.nn.MultiheadAttention(E, 2), run)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("static", [True, False])
def test_functional_form_with_separate_weights(need_weights, static):
    """As CLIP's pooling calls it: one query, three weights; and with keys that are kept from before."""
    found = []
    for framework in FRAMEWORKS:
        x = framework.tensor(array(S, N, E)).requires_grad_()
        weights = [framework.tensor(array(E, E) + i) for i in range(4)]
        biases = [framework.tensor(array(E) + i) for i in range(4)]
        kept = framework.tensor(array(N * 2, 7, E // 2)) if static else None
        out, probabilities = framework.nn.functional.multi_head_attention_forward(
            query=x[:1],
            key=x,
            value=x,
            embed_dim_to_check=E,
            num_heads=2,
            q_proj_weight=weights[0],
            k_proj_weight=weights[1],
            v_proj_weight=weights[2],
            in_proj_weight=None,
            in_proj_bias=framework.cat(biases[:3]),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=weights[3],
            out_proj_bias=biases[3],
            use_separate_proj_weight=True,
            training=True,
            need_weights=need_weights,
            static_k=kept,
            static_v=kept,
        )
        out.sum().backward()
        found.append([t.detach().numpy() for t in (out, x.grad, *([probabilities] if need_weights else []))])
        assert (probabilities is None) == (not need_weights)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)


def test_attention_errors():
    def outcome(call):
        def run(framework):
            seed()
            x = framework.ones(L, N, E)
            module = framework.nn.MultiheadAttention(E, 2)
            return lambda: call(framework, module, x)

        assert_same_outcome(run(mashal), run(torch), message=False)

    outcome(lambda fw, m, x: fw.nn.MultiheadAttention(E, 3))
    outcome(lambda fw, m, x: fw.nn.MultiheadAttention(0, 1))
    outcome(lambda fw, m, x: m(x, x, x, is_causal=True))
    outcome(lambda fw, m, x: m(x[..., :4], x[..., :4], x[..., :4]))
    outcome(lambda fw, m, x: m(x, x[:2], x))
    outcome(lambda fw, m, x: m(x[0, 0], x, x))
    outcome(lambda fw, m, x: m(x, x[0], x[0]))
    outcome(lambda fw, m, x: m(x, x, x, attn_mask=fw.ones(2, 2)))
    outcome(lambda fw, m, x: m(x, x, x, attn_mask=fw.ones(2, 2, 2)))
    outcome(lambda fw, m, x: m(x, x, x, attn_mask=fw.ones(L, L, dtype=fw.int64)))
    outcome(lambda fw, m, x: m(x, x, x, key_padding_mask=fw.ones(N)))
    outcome(lambda fw, m, x: m(x, x, x, key_padding_mask=fw.ones(N, 2)))
    outcome(lambda fw, m, x: m(x, x, x, fw.zeros(N, L, dtype=fw.bool), attn_mask=fw.zeros(L, L))[0])
    outcome(lambda fw, m, x: fw.nn.TransformerEncoderLayer(E, 2, activation="other"))
    outcome(lambda fw, m, x: fw.nn.Transformer(E, 2, 1, 1, 8)(x, x[:, :1]))
    outcome(lambda fw, m, x: fw.nn.Transformer(E, 2, 1, 1, 8)(x[..., :4], x))


@pytest.mark.parametrize("batch_first", [True, False])
def test_merge_masks(batch_first):
    for attn, pad in ((None, None), (array(S, S), None), (None, PADDING), (array(S, S), array(N, S))):
        found = []
        for framework in FRAMEWORKS:
            module = framework.nn.MultiheadAttention(E, 2, batch_first=batch_first)
            args = [None if m is None else framework.tensor(m) for m in (attn, pad)]
            mask, kind = module.merge_masks(*args, framework.ones(N, S, E))
            found.append((None if mask is None else mask.numpy(), kind))
        assert found[0][1] == found[1][1]
        if attn is not None or pad is not None:
            np.testing.assert_array_equal(found[0][0], found[1][0])


LAYERS = [
    {"batch_first": True, "dropout": 0.1, "activation": "gelu"},
    {"norm_first": True, "dropout": 0.1},
    {"batch_first": True, "norm_first": True, "bias": False, "dropout": 0.0},
    {"dropout": 0.0, "activation": "module"},
]


def layer_options(framework, options):
    options = {"dim_feedforward": 16, **options}
    if options.get("activation") == "module":
        options["activation"] = framework.nn.GELU()
    return options


@pytest.mark.parametrize("options", LAYERS)
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("use", ["plain", "padding", "causal", "both"])
def test_encoder(options, train, use):
    def build(framework):
        nn = framework.nn
        layer = nn.TransformerEncoderLayer(E, 2, **layer_options(framework, options))
        return nn.TransformerEncoder(layer, 2, nn.LayerNorm(E))

    def run(framework, module, tensor):
        src = tensor(array(N, S, E) if options.get("batch_first") else array(S, N, E))
        causal = framework.nn.Transformer.generate_square_subsequent_mask(S)
        added = np.where(PADDING, -np.inf, 0).astype("float32")
        extra = {
            "plain": {},
            "padding": {"src_key_padding_mask": framework.tensor(PADDING)},
            "causal": {"mask": causal},
            "both": {"mask": causal, "is_causal": True, "src_key_padding_mask": framework.tensor(added)},
        }[use]
        return module(src, **extra)

    run_both(build, run, train=train)
    if not train and use != "both":

        def without_gradients(framework, module, tensor):
            with framework.no_grad():
                return run(framework, module, tensor)

        run_both(build, without_gradients, grads=False, train=False)


@pytest.mark.parametrize("options", LAYERS)
def test_transformer(options):
    def order(a):
        return a if options.get("batch_first") else a.swapaxes(0, 1).copy()

    def run(framework, module, tensor):
        return module(
            tensor(order(array(N, S, E))),
            tensor(order(array(N, L, E))),
            tgt_mask=framework.nn.Transformer.generate_square_subsequent_mask(L),
            src_key_padding_mask=framework.tensor(PADDING),
            memory_key_padding_mask=framework.tensor(PADDING),
        )

    def unbatched(framework, module, tensor):
        return module(tensor(array(S, E)), tensor(array(L, E)))

    def build(framework):
        return framework.nn.Transformer(E, 2, 1, 2, **layer_options(framework, options))

    run_both(build, run)
    run_both(build, unbatched)


def test_attention_with_dropout_has_second_derivatives():
    """Against the composition, by differences of first derivatives."""
    mashal.manual_seed(0)
    packed = mashal.randn(3, 2, 2, 5, 4, dtype=mashal.float64, requires_grad=True)
    kept = mashal.rand(2, 2, 5, 5) < 0.7
    for length_first in (True, False):

        def fused(t, length_first=length_first):
            return mashal._ops._packed_attention(t, None, kept, False, 0.5, 0.7, length_first)[0]

        def separate(t):
            return mashal._ops._attention(*t.unbind(0), None, kept, False, 0.5, 0.7)[0]

        assert mashal.autograd.gradcheck(fused, (packed,))
        assert mashal.autograd.gradgradcheck(fused, (packed,))
        assert mashal.autograd.gradgradcheck(separate, (packed,))
        mashal.testing.assert_close(fused(packed), separate(packed))


def test_attention_backends_and_causal_bias():
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    from mashal.nn.attention import SDPBackend, bias, sdpa_kernel

    assert [b.name for b in SDPBackend] == [
        "ERROR",
        "MATH",
        "FLASH_ATTENTION",
        "EFFICIENT_ATTENTION",
        "CUDNN_ATTENTION",
        "OVERRIDEABLE",
    ]
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        assert mashal.backends.cuda.flash_sdp_enabled()
        assert not mashal.backends.cuda.math_sdp_enabled()
    assert mashal.backends.cuda.math_sdp_enabled()
    with pytest.raises(AssertionError), sdpa_kernel("math"):
        pass
    for ours, theirs in ((bias.causal_upper_left, causal_upper_left), (bias.causal_lower_right, causal_lower_right)):
        results = []
        for framework, make in ((mashal, ours), (torch, theirs)):
            q, k = framework.tensor(array(1, 2, 3, 4)), framework.tensor(array(1, 2, 5, 4))
            out = framework.nn.functional.scaled_dot_product_attention(q, k, k, make(3, 5))
            assert type(out) is framework.Tensor
            results.append(out.numpy())
        np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_autocast():
    found = []
    for framework in FRAMEWORKS:
        seed()
        nn = framework.nn
        layer = nn.TransformerEncoderLayer(E, 2, 16, 0.1, batch_first=True)
        decoder = nn.TransformerDecoderLayer(E, 2, 16, 0.1, batch_first=True)
        x = framework.tensor(array(N, S, E))
        pad = framework.tensor(np.where(PADDING, -np.inf, 0).astype("float32"))
        mask = nn.Transformer.generate_square_subsequent_mask(S)
        seed(1)
        with framework.autocast("cpu", dtype=framework.bfloat16):
            results = [layer(x, mask), layer(x, mask, pad), decoder(x, x, tgt_mask=mask, memory_key_padding_mask=pad)]
            results += layer.self_attn(x, x, x, key_padding_mask=pad)
        (sum(r.float().pow(3).sum() for r in results)).backward()
        results += [p.grad for p in (layer.linear1.weight, layer.self_attn.in_proj_weight)]
        found.append([(str(r.dtype).split(".")[1], r.detach().float().numpy()) for r in results])
    for (a_type, a), (b_type, b) in zip(*found, strict=True):
        assert a_type == b_type
        np.testing.assert_allclose(b, a, rtol=0.1, atol=0.02 * np.abs(a).max())


@pytest.mark.parametrize(("length", "batch", "keys"), [(3, 0, 3), (0, 2, 0), (3, 2, 0), (0, 2, 3)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_empty_batches_and_lengths(length, batch, keys, need_weights):
    def run(framework, module, tensor):
        memory = tensor(array(keys, batch, E))
        return module(tensor(array(length, batch, E)), memory, memory, need_weights=need_weights)

    run_both(lambda f: f.nn.MultiheadAttention(E, 2), run)


@pytest.mark.parametrize(
    "shapes",
    [((2, 0, 4), (2, 0, 4), (2, 0, 4)), ((0, 3, 4), (0, 5, 4), (0, 5, 2)), ((1, 2, 3, 0), (1, 2, 3, 0), (1, 2, 3, 2))],
)
def test_scaled_dot_product_of_nothing(shapes):
    theirs, ours = (f.nn.functional.scaled_dot_product_attention(*(f.ones(s) for s in shapes)) for f in FRAMEWORKS)
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
