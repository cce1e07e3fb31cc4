"""What the fuzzer found, and what must happen instead: a result, or an exception that says what is wrong."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

import mashal
import mashal.nn.functional as F

ops = mashal._ops
HUGE = 1 << 40


def meta(*shape: int, dtype: object = None) -> mashal.Tensor:
    return mashal.ones(shape, device="meta", dtype=dtype)


# ---- meta tensors have no data ----


@pytest.mark.parametrize(
    "call",
    [
        lambda: mashal.nonzero(meta(3)),
        lambda: mashal.unique(meta(3)),
        lambda: mashal.masked_select(meta(3), meta(3) > 0),
        lambda: mashal.bincount(meta(3, dtype=mashal.int64)),
        lambda: mashal.ones(3) + meta(3),
        lambda: mashal.ones(3) + meta(),
        lambda: mashal.minimum(mashal.ones(5), meta(5)),
        lambda: mashal.add(mashal.ones(3), 1, out=meta(3)),
        lambda: mashal.sum(mashal.ones(3), out=meta()),
        lambda: mashal.ones(3).copy_(meta(3)),
        lambda: mashal.ones(3)[meta(dtype=mashal.bool)],
        lambda: meta(3)[meta(dtype=mashal.bool)],
        lambda: F.hardtanh(mashal.ones(3), meta(), 1.0),
        lambda: mashal.tensor([1.0, meta()]),
        lambda: meta().item(),
    ],
)
def test_meta_is_not_read(call) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as e:
        call()
    assert str(e.value)


def test_meta_in_place_with_overlap() -> None:
    x = meta(2, 4)
    assert x.sub_(x[1:]).shape == (2, 4)


def test_new_tensor_of_meta() -> None:
    with pytest.warns(UserWarning, match="copy construct"):
        assert mashal.ones(2).new_tensor(meta(3), device="meta").shape == (3,)


# ---- sizes ----


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mashal.ones(1).expand(HUGE, HUGE), "too large"),
        (lambda: mashal.empty_strided([2, 2], [2**62, 2**62]), "too large"),
        (lambda: mashal.ones(HUGE), str(4 * HUGE)),
        (lambda: mashal.ones([1] * 70), "64 dimensions"),
        (lambda: mashal.ones(2).unsqueeze(0).expand([2] * 70 + [1, 2]), "64 dimensions"),
        (lambda: mashal.triu_indices(4, 2**50), "bytes"),
        (lambda: mashal.tril_indices(2**63 - 1, 2**63 - 1, 5), "too large"),
        (lambda: mashal.ones(4).split_with_sizes([2**62, 2**62, 4]), "split_sizes"),
        (lambda: mashal.ones(5, 2).tensor_split(2**62), "too large"),
        (lambda: mashal.ones(0).chunk(HUGE), "too large"),
        (lambda: mashal.combinations(mashal.ones(4), HUGE), "at most 64"),
        (lambda: mashal.special.laguerre_polynomial_l(mashal.zeros(3), 2**62), "degree"),
        (lambda: mashal.special.chebyshev_polynomial_v(mashal.zeros(3), mashal.tensor([2**40])), "degree"),
        (lambda: F.conv2d(mashal.ones(1, 1, 4, 4), mashal.ones(1, 1, 1, 1), stride=2**62), r"2\*\*31"),
        (lambda: F.max_pool2d(mashal.ones(1, 1, 4, 4), 2, stride=2**62), r"2\*\*31"),
        (lambda: F.pad(mashal.ones(3), [2**62, 2**62]), "too large"),
        (lambda: F.unfold(mashal.ones(1, 1, 4, 4), 2**33), r"2\*\*31"),
    ],
)
def test_huge_sizes_are_named(call, says) -> None:
    with pytest.raises((RuntimeError, ValueError), match=says):
        call()


def test_sizes_that_wrap_hold_nothing() -> None:
    x = mashal.empty(0, 2**62, 2**62)
    assert x.numel() == 0
    assert x.unsqueeze(0).clone().numel() == 0


@pytest.mark.parametrize("offset", [-7, -3, -1, 0, 1, 2, 5])
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (4, 3), (0, 3), (3, 0), (5, 1)])
def test_triangle_indices(rows: int, columns: int, offset: int) -> None:
    for name in ("triu_indices", "tril_indices"):
        ours = getattr(mashal, name)(rows, columns, offset).tolist()
        assert ours == getattr(torch, name)(rows, columns, offset).tolist()


def test_tall_triangle_begins_where_its_cells_do() -> None:
    assert mashal.tril_indices(HUGE + 2, 3, -HUGE).tolist() == [[HUGE, HUGE + 1, HUGE + 1], [0, 0, 1]]


def test_large_windows_with_padding_take_no_time() -> None:
    size = 2**31 - 1
    out, at = F.max_pool1d(mashal.arange(6.0).reshape(1, 1, 6), size, 1, size // 2, return_indices=True)
    assert out.max().item() == 5.0
    assert at.max().item() == 5


def test_unfold_of_nothing_but_padding() -> None:
    ours = ops.im2col(mashal.ones(2, 0, 3), 2, 1, 3, 2)
    assert tuple(ours.shape) == (8, 12)
    assert ours.abs().sum().item() == 0


def test_too_many_spatial_dimensions() -> None:
    with pytest.raises(RuntimeError, match="3 to 5"):
        ops.convolution(mashal.ones([1] * 7), mashal.ones([1] * 7), None, [1] * 5, [0] * 5, [1] * 5, False, [0] * 5, 1)
    with pytest.raises(RuntimeError):
        ops._max_pool(mashal.ones([1] * 7), [1] * 5, [1] * 5, [0] * 5, [1] * 5, False)
    with pytest.raises(RuntimeError):
        ops._adaptive_avg_pool(mashal.ones([1] * 7), [1] * 5)


# ---- results that share memory with inputs ----


def test_out_that_is_an_input_of_another_size() -> None:
    a, b = mashal.ones(1), mashal.ones(3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        mashal.add(a, b, out=a)
    x = mashal.arange(6.0).reshape(2, 3)
    mashal.sum(x, 0, out=x)
    assert x.tolist() == [3.0, 5.0, 7.0]
    y = mashal.arange(6.0)
    mashal.cumsum(y[2:], 0, out=y)
    assert y.tolist() == [2.0, 5.0, 9.0, 14.0]


def test_two_outs_that_are_one_tensor() -> None:
    a = mashal.empty(0)
    ops._svd(mashal.ones(3, 4), False, out=(a, a, a))
    assert a.shape == (3, 4)


def test_masked_scatter_into_nothing() -> None:
    mask = mashal.empty(3, 0, dtype=mashal.bool)
    assert mashal.empty(3, 0).masked_scatter(mask, mashal.ones(4)).shape == (3, 0)


def test_views_take_no_out() -> None:
    x = mashal.ones(3, 2)
    for call in (lambda: mashal.view_as_complex(x, out=x), lambda: mashal.transpose(x, 0, 1, out=x)):
        with pytest.raises(TypeError, match="out"):
            call()


@pytest.mark.parametrize(("size", "stride", "offset"), [((2, 2), (2,), 1), ((2,), (-2,), 1), ((2,), (2**62,), 2**62)])
def test_set_checks_the_geometry(size, stride, offset) -> None:
    with pytest.raises(RuntimeError, match="set_"):
        mashal.ones(4).set_(mashal.ones(6).untyped_storage(), offset, size, stride)


def test_real_of_a_real_tensor_is_no_step_of_the_graph() -> None:
    x = mashal.ones(3, requires_grad=True)
    y = mashal.real(x)
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_composites_in_place_keep_no_cycle() -> None:
    def use() -> None:
        x, y = mashal.ones(30)[::2], mashal.zeros(15, requires_grad=True)
        x.ldexp_(y)
        x.sum().backward()
        assert np.allclose(y.grad.numpy(), np.log(2), rtol=1e-6)

    use()
    gc.collect()
    before = mashal._core.memory_stats()["allocated"]
    use()
    gc.collect()
    assert mashal._core.memory_stats()["allocated"] == before


# ---- backward primitives check what they are given ----


@pytest.mark.parametrize(
    "call",
    [
        lambda t: ops._convolution_backward(
            t(1, 6, 9, 5), t(1, 4, 5, 5), t(6, 2, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 2
        ),
        lambda t: ops._convolution_backward_input(
            t(1, 6, 5, 5), t(6, 2, 3, 3), (3,), [1, 1], [1, 1], [1, 1], False, [0, 0], 2
        ),
        lambda t: ops._convolution_backward_weight(t(2, 3, 4), t(2, 3, 4), [], [1], [1], [1], True, [0], 1),
        lambda t: ops._batch_norm_backward(t(4, 3, 2), t(4, 3, 2), t(3), t(3), t(0), False, True, True, True),
        lambda t: ops._layer_norm_backward(t(2, 3), t(2, 3), [], t(2, 1), t(0, 3), t(3), True, True, True),
        lambda t: ops._group_norm_backward(t(2, 4, 3), t(2, 4, 3), 0, t(2, 2), t(2, 2), t(4), True, True, True),
        lambda t: ops._attention_backward(t(3, 0), t(4, 4), t(3, 3), t(4, 4), None, t(3), t(3), True, 0.5),
        lambda t: ops._cdist_backward(t(3, 5), t(3, 4), t(5, 4), 2.0, t(3, 5)),
        lambda t: ops._cdist(t(1, 3, 4), t(1, 5, 4).double(), 2.0, False),
        lambda t: ops._standard_gamma_grad(t(2, 3, 4), t(1, 0, 2)),
        lambda t: ops._ctc_loss_backward(t(2), t(9, 2, 4), t(2, 3).long(), [9, 9], [3, 3], t(2), t(2, 9, 6), 3, False),
        lambda t: ops._nll_loss_backward(t(), t(9).long(), None, t(), [4, 3], 1, -100),
        lambda t: ops._cross_entropy(t(3), t().long(), None, 1, -100, 0.0),
        lambda t: ops._cross_entropy_backward(t(), t(4, 3), t(9).long(), None, t(4), t(), 1, -100, 0.0),
        lambda t: ops._grid_sampler_backward(t(1, 2, 3, 3), t(1, 2, 4, 4), t(0, 6, 3, 2), 2, 1, False),
        lambda t: ops._interpolate_backward(t(3), [-5, 3, 1], "linear", True, []),
        lambda t: ops._adaptive_avg_pool_backward(t(), [1, 1, 2]),
        lambda t: ops._avg_pool_backward(t(1, 2, 9, 9), [1, 6], [2, 2], [2, 2], [1, 1], True, 0),
        lambda t: ops._pad_by_index_backward(t(1, 2, 8), (), "reflect"),
        lambda t: ops._softmax_backward(t(3, 0), t(257), -1),
        lambda t: ops._embedding_backward(t(2, 3), t(5).long(), 4, -1, False),
        lambda t: ops._plane_gather(t(1, 2, 4), t(1, 2, 4).long(), -1),
        lambda t: ops._lu_solve(t(3, 3), t(3).int(), t(4, 2), False),
        lambda t: ops._lu_solve(t(3, 3), t(3).int() * 9, t(3, 2), False),
        lambda t: ops._solve(t(3, 3), t(4, 2)),
        lambda t: ops._solve_triangular(t(3, 3), t(2, 3, 2), True, False),
        lambda t: ops._multinomial(t(1, 0, 2), 1),
        lambda t: ops._pinv(t(3, 4).double(), t().double(), t(0)),
    ],
)
def test_backward_primitives_check(call) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)) as e:
        call(mashal.ones)
    assert str(e.value)


# ---- numbers without end ----


def test_binomial_of_an_infinite_count() -> None:
    count = mashal.tensor([float("inf"), float("nan"), 3.0])
    assert mashal.binomial(count, mashal.full((3,), 0.5)).isnan().tolist() == [True, True, False]


@pytest.mark.parametrize("shape", [1.5e8, 1e10, 1e30, 1e308])
def test_incomplete_gamma_of_a_large_shape(shape: float) -> None:
    a = mashal.tensor([shape], dtype=mashal.float64)
    for x in (0.5 * shape, shape, 1e308):
        p = mashal.special.gammainc(a, mashal.tensor([x], dtype=mashal.float64)).item()
        q = mashal.special.gammaincc(a, mashal.tensor([x], dtype=mashal.float64)).item()
        assert p + q == pytest.approx(1.0, rel=1e-14)
    assert mashal.special.gammaincc(a, a).item() == pytest.approx(0.5 - 1 / (3 * np.sqrt(2 * np.pi * shape)), rel=1e-12)


def test_incomplete_gamma_far_out_takes_no_time() -> None:
    x = mashal.full((1000,), 1e308, dtype=mashal.float64)
    assert mashal.special.gammaincc(mashal.full((1000,), 5.0, dtype=mashal.float64), x).abs().max().item() == 0.0


@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "pinv"])
def test_iterations_on_infinite_matrices_end(name: str) -> None:
    with pytest.raises(RuntimeError, match="converge"):
        getattr(mashal.linalg, name)(mashal.full((4, 4), float("inf")))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, float("nan"), float("inf")])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic", "linear-antialias", "cubic-antialias"])
def test_interpolation_with_any_scale(mode: str, scale: float) -> None:
    assert tuple(ops._interpolate(mashal.ones(1, 2, 4, 4), [6, 7], mode, False, [scale, scale]).shape) == (1, 2, 6, 7)


def test_fractional_pooling_with_any_sample() -> None:
    samples = mashal.tensor([[[float("nan"), 1e30], [-5.0, float("-inf")]]])
    _, index = ops._fractional_max_pool(mashal.arange(72.0).reshape(1, 2, 6, 6), [2, 2], [3, 3], samples)
    assert index.min().item() >= 0
    assert index.max().item() < 36


# ---- arguments that are no tensors, and Python's own surprises ----


@pytest.mark.parametrize(
    "call",
    [
        lambda: mashal.flatten(3),
        lambda: mashal.hstack([3]),
        lambda: mashal.atleast_1d([2, 2**62]),
        lambda: mashal.meshgrid("tanh"),
        lambda: mashal.block_diag([]),
        lambda: mashal.hann_window(5, dtype=[2]),
        lambda: mashal.special.legendre_polynomial_p(1, 2),
        lambda: mashal.finfo(3),
        lambda: mashal.iinfo("int8"),
        lambda: mashal.frombuffer(b"1234", dtype=None),
        lambda: mashal.numel(3),
        lambda: mashal.is_complex(1j),
        lambda: mashal.ones(2).type(3),
    ],
)
def test_wrong_kinds_of_arguments_are_type_errors(call) -> None:
    with pytest.raises(TypeError):
        call()


def test_truth_of_an_argument_may_raise() -> None:
    with pytest.raises((RuntimeError, ValueError), match=r"ambiguous|no value"):
        mashal.sum(mashal.ones(3), 0, mashal.ones(0))


def test_lone_surrogates_in_texts() -> None:
    for call in (
        lambda: mashal.ones(2, device="\ud800"),
        lambda: mashal.ones(2).sum(**{"\ud800": 1}),
        lambda: mashal.scatter_reduce(mashal.ones(2), 0, mashal.zeros(1).long(), mashal.ones(1), "\ud800"),
    ):
        with pytest.raises((UnicodeEncodeError, TypeError, RuntimeError)):
            call()


def test_sequences_that_change_while_they_are_read() -> None:
    class Growing:
        """Longer each time it is asked."""

        def __init__(self) -> None:
            self.n = 1

        def __len__(self) -> int:
            self.n *= 8
            return self.n

        def __getitem__(self, i: int) -> float:
            if i >= self.n:
                raise IndexError
            return 1.0

    with pytest.raises(ValueError, match="expected sequence of length"):
        mashal.tensor([Growing(), Growing()])

    class Clearing:
        """An integer that empties the list it is in."""

        def __init__(self, home: list) -> None:
            self.home = home

        def __index__(self) -> int:
            self.home.clear()
            return 1

    sizes: list = [1]
    sizes += [Clearing(sizes), 3, 4]
    assert mashal.ones(sizes).shape == (1, 1)


def test_depthwise_convolution_with_a_huge_stride() -> None:
    x, w = mashal.ones(2, 4, 6, 6), mashal.ones(4, 1, 3, 3)
    assert F.conv2d(x, w, None, 2**31 - 1, 1, 1, 4).flatten().tolist() == [4.0] * 8


def test_an_input_that_is_the_target_is_not_kept() -> None:
    def use() -> None:
        x = mashal.ones(8)
        x.lerp_(mashal.ones(8, requires_grad=True), x)

    before = mashal._core.memory_stats()["allocated"]
    use()
    assert mashal._core.memory_stats()["allocated"] == before


@pytest.mark.parametrize(
    "call",
    [
        lambda: mashal.bincount(mashal.tensor([2**63 - 1])),
        lambda: mashal.repeat_interleave(mashal.tensor([2**63 - 1, 2**63 - 1, 2])),
        lambda: mashal.cat([mashal.ones(1).expand(2**61)] * 8),
        lambda: mashal.diag_embed(mashal.ones(3), 2**63 - 1),
        lambda: mashal.diag_embed(mashal.ones(3), -(2**63)),
    ],
)
def test_sums_of_sizes_do_not_wrap(call) -> None:
    with pytest.raises(RuntimeError, match="size is too large for a tensor"):
        call()


def test_histc_over_a_range_without_a_width() -> None:
    x = mashal.tensor([-1.7e308, -1e308, 0.0, 1e308, 1.7e308], dtype=mashal.float64)
    assert mashal.histc(x, 4).tolist() == [2.0, 0.0, 1.0, 2.0]


def test_triangles_by_diagonals_far_away() -> None:
    x = np.arange(9.0).reshape(3, 3)
    for name in ("tril", "triu"):
        for diagonal in (2**63 - 1, -(2**63), 3, -3):
            expected = getattr(torch, name)(torch.from_numpy(x), max(min(diagonal, 9), -9))
            assert getattr(mashal, name)(mashal.from_numpy(x), diagonal).tolist() == expected.tolist()
