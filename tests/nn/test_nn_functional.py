"""Functions: options that no layer reaches, and the errors and warnings of torch."""

import pytest
import torch
import torch.nn.functional as TF
from nn_helpers import assert_close, assert_same_outcome, convert, seed

import mashal
import mashal.nn.functional as F

Z = torch.zeros


def _x(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).requires_grad_()


IMAGE = torch.arange(100.0).reshape(1, 1, 10, 10)
I4 = torch.arange(12.0).reshape(1, 1, 3, 4)
LONG = torch.long

# (function, arguments, keywords); the outcome (value or error) must be torch's.
SAME = [
    # in place and simple forms
    *[(f, (_x(3, 4).detach(),), {"inplace": True}) for f in ("relu", "relu6", "silu", "mish", "selu", "celu", "elu")],
    *[(f, (_x(3, 4).detach(),), {"inplace": True}) for f in ("hardswish", "hardsigmoid", "hardtanh", "leaky_relu")],
    *[(f, (_x(3, 4).detach(),), {}) for f in ("relu_", "selu_", "celu_", "elu_", "hardtanh_", "leaky_relu_")],
    ("threshold_", (_x(3, 4).detach(), 0.1, 2.0), {}),
    ("rrelu_", (_x(3, 4).detach(),), {}),
    ("sigmoid", (_x(3),), {}),
    ("tanh", (_x(3),), {}),
    ("softmax", (_x(3),), {}),
    ("softmin", (_x(3, 4),), {}),
    ("log_softmax", (_x(3, 4, 2),), {}),
    ("softmax", (_x(3, 4), 1), {"dtype": torch.float64}),
    ("log_softmax", (_x(3, 4), 1), {"dtype": torch.float64}),
    ("softmin", (_x(3, 4), 1), {"dtype": torch.float64}),
    ("gumbel_softmax", (_x(3, 4),), {"tau": 0.5}),
    ("gumbel_softmax", (_x(3, 4),), {"hard": True, "dim": 0}),
    ("gumbel_softmax", (_x(3, 4),), {"eps": 1e-3}),
    ("glu", (Z(()),), {}),
    ("glu", (Z(3),), {}),
    ("hardtanh", (Z(3), 3, 1), {}),
    ("alpha_dropout", (_x(5, 6), 0.4, True), {}),
    ("alpha_dropout", (_x(5, 6), 1.0, True), {}),
    ("dropout", (_x(5, 6), 1.0, True), {}),
    ("dropout", (_x(5, 6).detach(), 0.4, True, True), {}),
    ("dropout1d", (_x(5, 6).detach(), 0.4, True, True), {}),
    ("dropout2d", (_x(5, 6, 3, 2).detach(), 0.4, True, True), {}),
    ("dropout3d", (_x(5, 6, 3, 2).detach(), 0.4, True, True), {}),
    ("feature_alpha_dropout", (_x(5, 6, 2).detach(), 0.4, True, True), {}),
    ("dropout", (Z(2), 3), {}),
    ("dropout1d", (Z(2), 0.3), {}),
    ("dropout2d", (_x(4, 5, 6), 0.3), {}),
    ("dropout2d", (_x(4, 5), 0.3), {}),
    ("dropout3d", (_x(2, 2), 0.3), {}),
    ("alpha_dropout", (Z(2), 3), {}),
    ("feature_alpha_dropout", (Z(2), 0.3, True), {}),
    # linear
    ("bilinear", (Z(2, 3), Z(3, 3), Z(1, 3, 3)), {}),
    ("bilinear", (Z(2, 3), Z(2, 3), Z(1, 3, 4)), {}),
    ("conv_tbc", (_x(7, 2, 3), _x(3, 3, 4), _x(4), 1), {}),
    # normalisation
    ("normalize", (_x(3, 4),), {}),
    ("normalize", (_x(3, 4), 1.5, 0), {"eps": 2.0}),
    ("normalize", (Z(3, 4),), {}),
    ("batch_norm", (Z(1, 3), None, None), {"training": True}),
    ("instance_norm", (Z(2, 3, 1),), {}),
    ("group_norm", (Z(3), 1), {}),
    ("group_norm", (Z(1, 2), 2), {}),
    ("local_response_norm", (Z(2, 3), 2), {}),
    # tables
    ("one_hot", (torch.tensor([[0, 2], [1, 1]]),), {}),
    ("one_hot", (torch.tensor([[0, 2], [1, 1]]), 5), {}),
    ("one_hot", (torch.tensor(3),), {}),
    ("one_hot", (Z(0, dtype=LONG), 4), {}),
    ("one_hot", (torch.tensor([-1]),), {}),
    ("one_hot", (torch.tensor([3]), 2), {}),
    ("one_hot", (torch.tensor([0]), 0), {}),
    ("one_hot", (Z(0, dtype=LONG),), {}),
    ("one_hot", (Z(2),), {}),
    ("embedding", (torch.tensor([0, 1]), Z(3, 2), 4), {}),
    ("embedding_bag", (torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), _x(10, 3), torch.tensor([0, 4])), {}),
    (
        "embedding_bag",
        (torch.tensor([1, 2, 4, 5, 4, 3]), _x(10, 3), torch.tensor([0, 4, 6])),
        {"mode": "sum", "include_last_offset": True, "per_sample_weights": torch.arange(6.0)},
    ),
    ("embedding_bag", (torch.tensor([1, 2]), _x(10, 3)), {}),
    ("embedding_bag", (torch.tensor([1, 2]), _x(10, 3), torch.tensor([[0]])), {}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3), torch.tensor([0])), {}),
    ("embedding_bag", (torch.tensor([[[1, 2]]]), _x(10, 3)), {}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3)), {"mode": "x"}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3)), {"mode": "max", "sparse": True}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3)), {"mode": "max", "scale_grad_by_freq": True}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3)), {"per_sample_weights": Z(1, 2)}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10, 3)), {"per_sample_weights": Z(1, 3), "mode": "sum"}),
    ("embedding_bag", (torch.tensor([[1, 2]]), _x(10)), {}),
    # padding
    ("pad", (_x(2, 3, 4), (1, 2)), {}),
    ("pad", (_x(2, 3, 4), (1, 2, -1, 0, 2, 1), "constant", 2.5), {}),
    ("pad", (I4, ()), {}),
    ("pad", (I4, (1,)), {}),
    ("pad", (I4, (1,) * 10), {}),
    ("pad", (I4, (4, 0), "reflect"), {}),
    ("pad", (I4, (4, 0, 0, 0), "reflect"), {}),
    ("pad", (I4, (3, 3, 2, 2), "reflect"), {}),
    ("pad", (I4, (1, 1), "foo"), {}),
    ("pad", (I4, (1, 1, 1, 1), "reflect", 3.0), {}),
    ("pad", (I4, (5, 0, 0, 0), "circular"), {}),
    ("pad", (I4, (4, 4, 3, 3), "circular"), {}),
    ("pad", (I4, (-1, -1, 1, 0), "reflect"), {}),
    ("pad", (I4, (-1, 2, 1, 0), "reflect"), {}),
    ("pad", (I4, (-1, 2, 1, 0), "circular"), {}),
    ("pad", (I4, (-1, 2, 1, 0), "replicate"), {}),
    ("pad", (I4, (2, -2, 1, -1), "replicate"), {}),
    ("pad", (I4, (0, 0, 0, 0), "reflect"), {}),
    ("pad", (I4.long(), (1, 1, 1, 1), "reflect"), {}),
    ("pad", (Z(2, 3), (1, 1), "reflect"), {}),
    ("pad", (Z(3), (1, 1), "reflect"), {}),
    ("pad", (Z(3), (1, 1), "circular"), {}),
    ("pad", (Z(0, 2, 3), (1, 1), "reflect"), {}),
    ("pad", (Z(2, 2, 0), (1, 1), "replicate"), {}),
    ("pad", (Z(1, 2, 3, 4, 5), (1,) * 4, "reflect"), {}),
    ("pad", (I4, (1,) * 8, "reflect"), {}),
    # resizing
    *[("interpolate", (_x(2, 3, 5), 8), {"mode": m}) for m in ("nearest", "nearest-exact", "area", "linear")],
    *[
        ("interpolate", (_x(2, 3, 5, 6),), {"scale_factor": (1.7, 0.6), "mode": m, "recompute_scale_factor": r})
        for m in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")
        for r in (None, False, True)
    ],
    *[("interpolate", (_x(2, 3, 4, 5, 6), (3, 7, 2)), {"mode": m}) for m in ("nearest", "nearest-exact", "area")],
    *[("interpolate", (_x(2, 3, 8, 9), (5, 4)), {"mode": m, "antialias": True}) for m in ("bilinear", "bicubic")],
    ("interpolate", (_x(2, 3, 8, 9), (5, 4)), {"mode": "bilinear", "align_corners": True}),
    ("interpolate", (I4,), {}),
    ("interpolate", (I4, 3, 2), {}),
    ("interpolate", (I4, (3,)), {}),
    ("interpolate", (I4,), {"scale_factor": (3,)}),
    ("interpolate", (I4, 2), {"align_corners": True}),
    ("interpolate", (I4, 2), {"mode": "linear"}),
    ("interpolate", (I4, 2), {"mode": "trilinear"}),
    ("interpolate", (I4, 2), {"mode": "foo"}),
    ("interpolate", (I4, 2), {"recompute_scale_factor": True}),
    ("interpolate", (I4, 2), {"antialias": True}),
    ("interpolate", (I4, (2.5, 2.5)), {}),
    ("interpolate", (Z(2, 3), 2), {}),
    ("interpolate", (Z(1, 2, 3), 2), {"mode": "bilinear"}),
    ("interpolate", (Z(1, 2, 3, 4, 5), 2), {"mode": "bicubic"}),
    ("upsample", (I4, 2), {}),
    ("upsample_nearest", (I4, 2), {}),
    ("upsample_bilinear", (I4, 2), {}),
    *[
        ("grid_sample", (_x(2, 3, 4, 5), _x(2, 3, 2, 2), m, p, a), {})
        for m in ("bilinear", "nearest", "bicubic")
        for p in ("zeros", "border", "reflection")
        for a in (False, True)
    ],
    ("grid_sample", (_x(2, 3, 4, 5), _x(2, 3, 2, 2)), {}),
    ("grid_sample", (_x(2, 3, 2, 4, 5), _x(2, 3, 2, 2, 3), "bilinear", "zeros", False), {}),
    ("grid_sample", (I4, Z(1, 2, 2, 2)), {"mode": "x"}),
    ("grid_sample", (I4, Z(1, 2, 2, 2)), {"padding_mode": "x"}),
    ("affine_grid", (_x(2, 2, 3), [2, 1, 3, 4], False), {}),
    ("affine_grid", (_x(2, 2, 3), [2, 1, 1, 4], True), {}),
    ("affine_grid", (_x(2, 3, 4), [2, 1, 3, 4, 2], True), {}),
    ("affine_grid", (_x(2, 2, 3), [2, 1, 3, 4]), {}),
    ("affine_grid", (Z(1, 2, 3), [1, 1, 2], False), {}),
    ("affine_grid", (Z(1, 2, 2), [1, 1, 2, 2], False), {}),
    ("affine_grid", (Z(1, 3, 4), [1, 1, 2, 2], False), {}),
    ("affine_grid", (Z(1, 2, 3, dtype=LONG), [1, 1, 2, 2], False), {}),
    ("affine_grid", (Z(1, 2, 3), [1, 1, 0, 2], False), {}),
    ("pixel_shuffle", (_x(2, 1, 4, 3, 2), 2), {}),
    ("pixel_unshuffle", (_x(4, 4, 6), 2), {}),
    ("pixel_shuffle", (I4, 2), {}),
    ("pixel_shuffle", (Z(3, 4), 2), {}),
    ("pixel_shuffle", (I4, -1), {}),
    ("pixel_unshuffle", (I4, 2), {}),
    ("channel_shuffle", (I4, 2), {}),
    ("channel_shuffle", (Z(3, 4), 2), {}),
    ("channel_shuffle", (I4, 0), {}),
    ("fold", (Z(1, 3, 4), (3, 3), 2), {}),
    ("fold", (Z(1, 8, 5), 3, 2), {}),
    # pooling
    ("max_unpool2d", (I4, I4.long(), 2), {"output_size": (9, 9)}),
    ("max_unpool2d", (I4, I4.long(), 2), {"output_size": (6,)}),
    ("max_unpool2d", (I4, I4.long() + 100, 2), {}),
    ("max_unpool2d", (I4, I4, 2), {}),
    ("max_unpool2d", (Z(3, 4), Z(3, 4, dtype=LONG), 2), {}),
    ("max_unpool2d", (I4, I4.long()[..., :2], 2), {}),
    ("fractional_max_pool2d", (I4, 2), {}),
    ("fractional_max_pool2d", (I4, 2, (9, 9)), {}),
    *[
        (
            f,
            (IMAGE, (2, 3), (4, 5)),
            {"_random_samples": torch.tensor([[[0.3, 0.8]]])},
        )
        for f in ("fractional_max_pool2d", "fractional_max_pool2d_with_indices")
    ],
    (
        "fractional_max_pool3d_with_indices",
        (torch.arange(504.0).reshape(1, 1, 7, 8, 9), (2, 3, 2), (3, 4, 1)),
        {"_random_samples": torch.tensor([[[0.3, 0.8, 0.1]]])},
    ),
    ("max_pool2d_with_indices", (_x(2, 3, 5, 5), 2), {}),
    ("adaptive_max_pool2d_with_indices", (_x(2, 3, 5, 5), 2), {}),
    # losses
    ("kl_div", (_x(3, 4), torch.full((3, 4), 0.25)), {}),
    ("kl_div", (Z(2, 2), Z(2, 2)), {"reduction": "x"}),
    ("l1_loss", (_x(3, 4), Z(3, 4)), {"weight": torch.arange(12.0).reshape(3, 4)}),
    ("mse_loss", (_x(3, 4), Z(3, 4)), {"weight": torch.arange(12.0).reshape(3, 4)}),
    ("mse_loss", (_x(3, 4), Z(3, 4)), {"weight": torch.arange(12.0).reshape(3, 4), "reduction": "sum"}),
    ("huber_loss", (_x(3, 4), Z(3, 4)), {"weight": torch.arange(12.0).reshape(3, 4)}),
    ("mse_loss", (Z(2), Z(2)), {"weight": Z(1)}),
    ("mse_loss", (Z(2, 1), Z(2)), {}),
    ("mse_loss", (Z(2), Z(2)), {"reduction": "x"}),
    ("mse_loss", (Z(2), Z(2).double()), {}),
    ("mse_loss", (_x(2), Z(2)), {"size_average": False}),
    ("l1_loss", (_x(2), Z(2)), {"reduce": False}),
    ("smooth_l1_loss", (Z(2), Z(2)), {"beta": -1}),
    ("huber_loss", (Z(2), Z(2)), {"delta": 0}),
    ("poisson_nll_loss", (Z(2), Z(2)), {"reduction": "x"}),
    ("gaussian_nll_loss", (Z(2), Z(2), -Z(2) - 1), {}),
    ("gaussian_nll_loss", (_x(2, 3), Z(2, 3), 2.0), {}),
    ("gaussian_nll_loss", (Z(2, 3), Z(2, 3), -1.0), {}),
    ("gaussian_nll_loss", (Z(2, 3), Z(2, 3), Z(3, 3)), {}),
    ("gaussian_nll_loss", (Z(2, 3), Z(2, 3), Z(2, 3)), {"reduction": "x"}),
    ("margin_ranking_loss", (Z(2), Z(2), Z(2, 1)), {}),
    ("cosine_embedding_loss", (Z(2, 3), Z(2, 3), Z(2, 1)), {}),
    ("cosine_embedding_loss", (Z(3), Z(3), Z(2)), {}),
    ("cosine_embedding_loss", (Z(2, 3), Z(2, 3), Z(2)), {}),
    ("triplet_margin_loss", (Z(2, 3), Z(3), Z(2, 3)), {}),
    ("triplet_margin_loss", (Z(2, 3), Z(2, 3), Z(2, 3)), {"margin": -1}),
    ("triplet_margin_with_distance_loss", (Z(2, 3), Z(3), Z(2, 3)), {}),
    ("hinge_embedding_loss", (_x(2), torch.tensor([1.0, 0.5])), {"reduction": "none"}),
    ("nll_loss", (Z(2, 3), Z(3, dtype=LONG)), {}),
    ("nll_loss", (Z(()), Z(2, dtype=LONG)), {}),
    ("nll_loss", (Z(2, 3, 4), Z(2, 5, dtype=LONG)), {}),
    ("nll_loss", (Z(2, 3), torch.tensor([0, 7])), {}),
    ("cross_entropy", (Z(2, 3), Z(2)), {}),
    ("cross_entropy", (Z(2, 3), Z(2, 3)), {"ignore_index": 1}),
    ("cross_entropy", (Z(2, 3), Z(2, 3, dtype=LONG)), {}),
    ("cross_entropy", (Z(2, 3), Z(2, dtype=LONG)), {"reduction": "x"}),
    ("cross_entropy", (Z(2, 3), Z(2, dtype=LONG)), {"label_smoothing": 2.0}),
    ("cross_entropy", (Z(2, 3), Z(2, 3)), {"weight": Z(2)}),
    ("cross_entropy", (Z(2, 3), Z(2, dtype=LONG)), {"weight": Z(2)}),
    ("cross_entropy", (_x(3), torch.tensor(-100)), {}),
    ("cross_entropy", (Z(0, 3), Z(0, dtype=LONG)), {}),
    ("cross_entropy", (_x(2, 3), Z(2, dtype=torch.uint8)), {"label_smoothing": 0.1}),
    ("cross_entropy", (_x(2, 3), torch.tensor([-100, -100])), {"reduction": "none"}),
    ("cross_entropy", (Z(2, 3), torch.tensor([-1, 0])), {}),
    ("binary_cross_entropy", (Z(2), Z(3)), {}),
    ("binary_cross_entropy", (Z(2) + 2, Z(2)), {}),
    ("binary_cross_entropy", (torch.tensor([0.0, 1, 0, 1], requires_grad=True), torch.tensor([0.0, 1, 1, 0])), {}),
    ("binary_cross_entropy", (Z(2), Z(2)), {"weight": Z(5)}),
    ("binary_cross_entropy_with_logits", (Z(2), Z(3)), {}),
    ("multi_margin_loss", (Z(2, 3), Z(3, dtype=LONG)), {}),
    ("multi_margin_loss", (Z(2, 3), torch.tensor([0, 4])), {}),
    ("multi_margin_loss", (Z(2, 3), Z(2, dtype=LONG)), {"p": 3}),
    ("multi_margin_loss", (Z(2, 3), Z(2, dtype=LONG)), {"weight": Z(2)}),
    ("multilabel_margin_loss", (Z(2, 3), Z(2, 4, dtype=LONG)), {}),
    ("multilabel_margin_loss", (Z(3), torch.tensor([0, 1, 7])), {}),
    ("multilabel_margin_loss", (Z(3), torch.tensor([-1, -1, 1])), {"reduction": "none"}),
    ("multilabel_soft_margin_loss", (Z(2, 3), Z(2, 4)), {}),
    ("multilabel_soft_margin_loss", (Z(2, 3), Z(2, 3)), {"reduction": "x"}),
    ("cosine_similarity", (Z(2, 3, dtype=LONG), Z(2, 3, dtype=LONG)), {}),
    ("cosine_similarity", (Z(2, 3).requires_grad_(), _x(2, 3)), {}),
    ("cosine_similarity", (_x(2, 3).double(), _x(2, 3)), {}),
    ("pairwise_distance", (Z(2, 3), Z(3)), {}),
    ("pdist", (_x(4, 3),), {}),
]


def leaves(value):
    return [v for v in value if isinstance(v, torch.Tensor | mashal.Tensor)]


@pytest.mark.parametrize("case", SAME, ids=[f"{i}-{case[0]}" for i, case in enumerate(SAME)])
def test_same_outcome_as_torch(case):
    name, args, kwargs = case
    # Own copies: some of the calls change their arguments.
    theirs = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
    ours = convert(theirs, requires_grad=True)
    results = {}

    def call(library, module, arguments, keywords):
        seed(5)
        results[library] = getattr(module, name)(*arguments, **keywords)
        return results[library]

    # A check of ours may come before one of torch's and then has its own words, so only classes are compared.
    assert_same_outcome(
        lambda: call("mashal", F, ours, convert(kwargs)),
        lambda: call("torch", TF, theirs, kwargs),
        message=False,
    )
    if "torch" not in results:
        return
    out, expected = results["mashal"], results["torch"]
    if isinstance(expected, tuple):
        out, expected = out[0], expected[0]
    if expected.requires_grad:
        (expected * expected).sum().backward()
        (out * out).sum().backward()
        for a, b in zip(leaves(ours), leaves(theirs), strict=True):
            if b.grad is not None:
                assert_close(a.grad, b.grad)


def test_soft_margin_loss_is_finite_where_the_exponential_overflows():
    x = mashal.tensor([-200.0], requires_grad=True)
    loss = F.soft_margin_loss(x, mashal.ones(1))
    loss.backward()
    assert loss.item() == pytest.approx(200.0)
    assert x.grad.item() == -1.0


def test_normalize_into_out():
    x = _x(3, 4).detach()
    out = mashal.empty(3, 4)
    assert F.normalize(convert(x), out=out) is out
    assert_close(out, TF.normalize(x))


def test_embedding_renormalises_the_weight_in_place():
    weight = 3 * _x(6, 4).detach()
    ours = convert(weight)
    index = torch.tensor([[0, 2], [2, 5]])
    assert_close(F.embedding(convert(index), ours, max_norm=1.0), TF.embedding(index, weight, max_norm=1.0))
    assert_close(ours, weight)


ATTENTION = [
    {},
    {"is_causal": True},
    {"scale": 0.3},
    {"attn_mask": torch.tensor([[True, False, True], [True, True, True]])},
    {"attn_mask": torch.tensor([[0.0, -1.0, 2.0], [1.0, 0.0, 0.5]])},
]


@pytest.mark.parametrize("options", ATTENTION, ids=str)
def test_attention(options):
    theirs = [_x(2, 3, 2, 4), _x(2, 3, 3, 4), _x(2, 3, 3, 5)]
    ours = convert(theirs, requires_grad=True)
    expected = TF.scaled_dot_product_attention(*theirs, **options)
    out = F.scaled_dot_product_attention(*ours, **convert(options))
    assert_close(out, expected)
    for t in theirs:
        t.grad = None
    expected.square().sum().backward()
    out.square().sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.grad, b.grad)


def test_attention_repeats_grouped_heads():
    theirs = [_x(2, 4, 5, 4), _x(2, 2, 5, 4), _x(2, 2, 5, 4)]
    expected = TF.scaled_dot_product_attention(*theirs, enable_gqa=True)
    assert_close(F.scaled_dot_product_attention(*convert(theirs), enable_gqa=True), expected)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    ("offsets", "include_last"), [([0, 2, 3], True), ([0, 2, 6], True), ([0], True), ([], False), ([0, 2, 2, 5], False)]
)
def test_embedding_bag_ends_with_the_last_offset(mode, offsets, include_last):
    """By the definition: PyTorch's own gradients read outside of their memory here."""
    weight = mashal.arange(6.0).view(6, 1).requires_grad_()
    out = F.embedding_bag(
        mashal.arange(6), weight, mashal.tensor(offsets, dtype=mashal.long), mode=mode, include_last_offset=include_last
    )
    ends = offsets[1:] if include_last else [*offsets[1:], 6]
    bags = [weight.detach()[start:end] for start, end in zip(offsets, ends, strict=False)]
    expected = [[getattr(bag, mode)().item() if len(bag) else 0.0] for bag in bags]
    assert out.tolist() == expected
    if mode == "sum":
        out.sum().backward()
        last = ends[-1] if bags else 0
        assert weight.grad.flatten().tolist() == [1.0] * last + [0.0] * (6 - last)


@pytest.mark.parametrize(
    ("offsets", "message"), [([0, 7], "can not be greater"), ([0, -1], "not decrease"), ([0, 3, 1], "not decrease")]
)
def test_embedding_bag_refuses_offsets_outside_of_its_indices(offsets, message):
    with pytest.raises(RuntimeError, match=message):
        F.embedding_bag(mashal.arange(6), mashal.ones(6, 1), mashal.tensor(offsets))
    with pytest.raises((RuntimeError, IndexError)):
        TF.embedding_bag(torch.arange(6), torch.ones(6, 1), torch.tensor(offsets))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_on_meta(mode):
    bags = mashal.nn.EmbeddingBag(5, 2, mode=mode, device="meta")
    indices, offsets = (mashal.zeros(n, dtype=mashal.long, device="meta") for n in (3, 2))
    assert bags(indices, offsets).shape == (2, 2)
