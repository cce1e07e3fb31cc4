"""View copies, histograms, sampled derivatives and functions of early versions, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mashal

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:at::", "ignore:torch.lu is deprecated")
A = [[0.5, -1.0, 2.0], [1.5, 0.0, -0.5], [0.3, 0.7, 1.1]]


def flat(x):
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in flat(part)]
    return [x]


CASES = {
    "alias_copy": lambda t, a: t.alias_copy(a),
    "as_strided_copy": lambda t, a: t.as_strided_copy(a, (2, 2), (3, 1), 1),
    "detach_copy": lambda t, a: t.detach_copy(a),
    "diagonal_copy": lambda t, a: t.diagonal_copy(a, 1),
    "expand_copy": lambda t, a: t.expand_copy(a[:1], (3, 3)),
    "permute_copy": lambda t, a: t.permute_copy(a, (1, 0)),
    "select_copy": lambda t, a: t.select_copy(a, 0, 1),
    "slice_copy": lambda t, a: t.slice_copy(a, 1, 1, 3),
    "split_copy": lambda t, a: t.split_copy(a, 2),
    "split_with_sizes_copy": lambda t, a: t.split_with_sizes_copy(a, [1, 2]),
    "squeeze_copy": lambda t, a: t.squeeze_copy(a[:1], 0),
    "t_copy": lambda t, a: t.t_copy(a),
    "transpose_copy": lambda t, a: t.transpose_copy(a, 0, 1),
    "unbind_copy": lambda t, a: t.unbind_copy(a),
    "unfold_copy": lambda t, a: t.unfold_copy(a, 1, 2, 1),
    "unsqueeze_copy": lambda t, a: t.unsqueeze_copy(a, 1),
    "view_copy": lambda t, a: t.view_copy(a, (9,)),
    "view_as_complex_copy": lambda t, a: t.view_as_complex_copy(a[:, :2].contiguous()).abs(),
    "view_as_real_copy": lambda t, a: t.view_as_real_copy(a + 0j),
    "narrow_copy": lambda t, a: a.narrow_copy(1, 1, 2),
    "as_strided_scatter": lambda t, a: t.as_strided_scatter(a, t.ones(2, 2), (2, 2), (3, 1), 1),
    "sum_to_size": lambda t, a: a.sum_to_size(1, 3),
    "sum_to_size-lead": lambda t, a: a.sum_to_size((3,)),
    "unsafe_chunk": lambda t, a: t.unsafe_chunk(a, 2),
    "unsafe_split_with_sizes": lambda t, a: t.unsafe_split_with_sizes(a, [1, 2]),
    "swapaxes_": lambda t, a: a.clone().swapaxes_(0, 1),
    "swapdims_": lambda t, a: a.clone().swapdims_(0, 1),
    "empty_permuted": lambda t, a: t.empty_permuted((2, 3, 4), (2, 0, 1)).zero_(),
    "histogram": lambda t, a: t.histogram(a, 4),
    "histogram-range": lambda t, a: t.histogram(a, 3, range=(-1.0, 1.0), density=True),
    "histogram-edges": lambda t, a: t.histogram(a, t.tensor([-1.0, 0.0, 0.5, 2.0]), weight=a.abs()),
    "histogram-equal": lambda t, a: t.histogram(t.ones(3), 2),
    "histogramdd": lambda t, a: t.histogramdd(a, [2, 3, 2], density=True),
    "histogramdd-range": lambda t, a: t.histogramdd(a[:, :2], 2, range=[-1.0, 1.0, 0.0, 1.0]),
    "nonzero_static": lambda t, a: t.nonzero_static(a, size=10, fill_value=7),
    "nonzero_static-cut": lambda t, a: a.nonzero_static(size=3),
    "gradient": lambda t, a: t.gradient(a),
    "gradient-spacing": lambda t, a: t.gradient(a, spacing=2.0, edge_order=2),
    "gradient-dim": lambda t, a: t.gradient(a, spacing=0.5, dim=1),
    "gradient-coordinates": lambda t, a: t.gradient(a, spacing=[t.tensor([0.0, 1.0, 3.0])], dim=0, edge_order=2),
    "gradient-coordinates-1": lambda t, a: t.gradient(a, spacing=[t.tensor([0.0, 1.0, 3.0])], dim=1),
    "segment_reduce": lambda t, a: [
        t.segment_reduce(a, r, lengths=t.tensor([1, 0, 2])) for r in ("sum", "mean", "max", "min", "prod")
    ],
    "segment_reduce-initial": lambda t, a: t.segment_reduce(a, "max", lengths=t.tensor([1, 0, 2]), initial=0.4),
    "cosine_embedding_loss": lambda t, a: t.cosine_embedding_loss(a, a.T, t.tensor([1.0, -1.0, 1.0]), 0.1, 2),
    "hinge_embedding_loss": lambda t, a: t.hinge_embedding_loss(a, a.sign(), 1.0, 1),
    "margin_ranking_loss": lambda t, a: t.margin_ranking_loss(a, a.T, t.ones(3, 3), 0.1, 0),
    "poisson_nll_loss": lambda t, a: t.poisson_nll_loss(a, a.abs(), True, False, 1e-8, 1),
    "triplet_margin_loss": lambda t, a: t.triplet_margin_loss(a, a.T, a * 2, 1.0, 2, 1e-6, False, 1),
    "affine_grid_generator": lambda t, a: t.affine_grid_generator(a[:2].unsqueeze(0), (1, 1, 2, 3), False),
    "conv_tbc": lambda t, a: t.conv_tbc(a.view(3, 1, 3), a.view(1, 3, 3), t.zeros(3), 0),
    "linalg.matmul": lambda t, a: t.linalg.matmul(a, a),
    "lu": lambda t, a: a.lu(),
    "frobenius_norm": lambda t, a: t.frobenius_norm(a, [0, 1]),
    "nuclear_norm": lambda t, a: t.nuclear_norm(a),
    "norm_except_dim": lambda t, a: t.norm_except_dim(a, 2, 1),
    "ormqr": lambda t, a: [
        t.ormqr(*t.geqrf(a), a, left=left, transpose=tr) for left in (True, False) for tr in (True, False)
    ],
    "lobpcg": lambda t, a: t.lobpcg(a @ a.T + t.eye(3), k=1)[0],
    "is_same_size": lambda t, a: t.tensor([t.is_same_size(a, a), t.is_same_size(a, a[0])]),
    "get_device": lambda t, a: t.tensor([t.get_device(a), int(t.is_inference(a)), int(a.is_distributed())]),
    "detach_": lambda t, a: t.detach_(a.clone()),
    "module_load": lambda t, a: a.clone().module_load(a * 2),
    "slice_inverse": lambda t, a: a[1:].slice_inverse(a, 0, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_against_pytorch(name):
    found = flat(CASES[name](mashal, mashal.tensor(A)))
    expected = flat(CASES[name](torch, torch.tensor(A)))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert repr(a.dtype).split(".")[1] == repr(b.dtype).split(".")[1]
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.histogram(t.ones(3).int(), 3),
        lambda t: t.histogram(t.ones(3), 0),
        lambda t: t.histogram(t.ones(3), 2, range=(1.0, 0.0)),
        lambda t: t.histogram(t.ones(3), 2, weight=t.ones(2)),
        lambda t: t.histogramdd(t.ones(3), 2),
        lambda t: t.histogramdd(t.ones(3, 2), [2]),
        lambda t: t.nonzero_static(t.ones(3), size=-1),
        lambda t: t.ones(2, 3).sum_to_size(2, 2),
        lambda t: t.as_strided_scatter(t.zeros(4), t.ones(3), (2,), (2,)),
        lambda t: t.gradient(t.ones(1)),
        lambda t: t.gradient(t.ones(3), edge_order=3),
        lambda t: t.segment_reduce(t.ones(3), "sum", lengths=t.tensor([1])),
        lambda t: t.symeig(t.eye(2)),
        lambda t: t.solve(t.eye(2), t.eye(2)),
        lambda t: t.eig(t.eye(2)),
        lambda t: t.matrix_rank(t.eye(2)),
        lambda t: t.lstsq(t.eye(2), t.eye(2)),
        lambda t: t.ones(2).to_padded_tensor(0.0),
    ],
)
def test_errors(wrong):
    with pytest.raises(Exception) as expected:
        wrong(torch)
    with pytest.raises(expected.type):
        wrong(mashal)


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    np.arange(6, dtype=np.float32).tofile(path)
    x = mashal.from_file(str(path), size=4)
    assert x.tolist() == [0, 1, 2, 3]
    for wrong in ({"filename": str(tmp_path / "none"), "size": 3}, {"filename": str(path), "size": 100}):
        with pytest.raises(RuntimeError, match="unable to map"):
            mashal.from_file(**wrong)
    mashal.from_file(str(path), shared=True, size=6).mul_(2)
    assert np.fromfile(path, np.float32).tolist() == [0, 2, 4, 6, 8, 10]


def test_gradients_flow():
    x = mashal.ones(3, 3, requires_grad=True)
    y = mashal.as_strided_scatter(x, mashal.zeros(2), (2,), (1,)).sum() + mashal.gradient(x * x)[0].sum()
    y.backward()
    assert x.grad is not None
    z = mashal.transpose_copy(x, 0, 1).sum() + x.sum_to_size(1, 3).sum()
    z.backward()


def test_on_the_cpu_streams_and_half_complex_numbers():
    x = mashal.ones(1)
    assert x.record_stream(None) is None
    assert (x.has_names(), x.names, x.name, x.is_xla, x.is_mtia) == (False, (None,), None, False, False)
    assert x.const_data_ptr() == x.data_ptr()
    with pytest.raises(NotImplementedError):
        x.chalf()
