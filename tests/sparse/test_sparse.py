"""Sparse tensors against PyTorch's: construction, conversion, products, gradients, messages."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mashal

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse CSR tensor support", "ignore:Sparse invariant checks", "ignore:torch.sparse.SparseTensor"
)

INDICES = [[0, 1, 1, 3, 1], [2, 0, 2, 1, 2]]
VALUES = [3.0, 4.0, 5.0, -2.0, 0.5]
SIZE = (4, 3)


def make(t, requires_grad=False, size=SIZE):
    values = t.tensor(VALUES, requires_grad=requires_grad)
    return t.sparse_coo_tensor(t.tensor(INDICES), values, size), values


def same(a, b):
    assert a.layout is mashal.strided or repr(a.layout).split(".")[1] == str(b.layout).split(".")[1]
    if a.layout is not mashal.strided:
        assert tuple(a.shape) == tuple(b.shape)
        a, b = a.to_dense(), b.to_dense()
    assert tuple(a.shape) == tuple(b.shape)
    assert repr(a.dtype).split(".")[1] == repr(b.dtype).split(".")[1]
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


FORMS = {
    "dense": lambda t, a: a.to_dense(),
    "coalesce": lambda t, a: a.coalesce(),
    "indices": lambda t, a: a.coalesce().indices(),
    "values": lambda t, a: a.coalesce().values(),
    "raw": lambda t, a: a._indices(),
    "t": lambda t, a: a.t(),
    "T": lambda t, a: a.T,
    "transpose": lambda t, a: t.transpose(a, 0, 1),
    "permute": lambda t, a: a.permute(1, 0),
    "double": lambda t, a: a.double(),
    "to": lambda t, a: a.to(t.float64),
    "neg": lambda t, a: -a,
    "times": lambda t, a: a * 3,
    "times-left": lambda t, a: 3 * a,
    "over": lambda t, a: a / 2,
    "plus": lambda t, a: a + a.t().t(),
    "minus": lambda t, a: a - 2 * a,
    "dense-plus": lambda t, a: t.ones(4, 3) + a,
    "product": lambda t, a: a * a,
    "product-dense": lambda t, a: a.coalesce() * t.arange(12.0).view(4, 3),
    "abs": lambda t, a: t.abs(a),
    "sqrt": lambda t, a: t.sqrt(a * a),
    "pow": lambda t, a: a.pow(2),
    "sum": lambda t, a: a.sum(),
    "sum-dim": lambda t, a: t.sparse.sum(a, 0),
    "sum-dims": lambda t, a: t.sparse.sum(a, (0, 1)),
    "mm": lambda t, a: t.mm(a, t.arange(6.0).view(3, 2)),
    "spmm": lambda t, a: t.spmm(a, t.arange(6.0).view(3, 2)),
    "sparse.mm": lambda t, a: t.sparse.mm(a, t.arange(6.0).view(3, 2)),
    "at": lambda t, a: a @ t.arange(6.0).view(3, 2),
    "vector": lambda t, a: a @ t.arange(3.0),
    "mv": lambda t, a: t.mv(a, t.arange(3.0)),
    "dense-left": lambda t, a: t.arange(8.0).view(2, 4) @ a,
    "sparse-sparse": lambda t, a: t.sparse.mm(a, a.t()),
    "addmm": lambda t, a: t.addmm(t.ones(4, 2), a, t.arange(6.0).view(3, 2), beta=0.5, alpha=2),
    "sparse.addmm": lambda t, a: t.sparse.addmm(t.ones(4, 2), a, t.arange(6.0).view(3, 2)),
    "softmax": lambda t, a: t.sparse.softmax(a, 1),
    "log-softmax": lambda t, a: t.sparse.log_softmax(a, 0),
    "select": lambda t, a: a[1],
    "select-last": lambda t, a: a.select(1, 2),
    "element": lambda t, a: a.coalesce()[1][0],
    "rows": lambda t, a: a[1:3] if t is mashal else a.to_dense()[1:3].to_sparse(),  # PyTorch cannot
    "index-select": lambda t, a: a.index_select(0, t.tensor([3, 1, 1])),
    "cat": lambda t, a: t.cat([a, a], 1),
    "unsqueeze": lambda t, a: a.unsqueeze(0),
    "csr": lambda t, a: a.coalesce().to_sparse_csr(),
    "csr-crow": lambda t, a: a.coalesce().to_sparse_csr().crow_indices(),
    "csr-col": lambda t, a: a.coalesce().to_sparse_csr().col_indices(),
    "csr-mm": lambda t, a: a.coalesce().to_sparse_csr() @ t.arange(6.0).view(3, 2),
    "clone": lambda t, a: a.clone(),
    "detach": lambda t, a: a.detach(),
    "zeros-like": lambda t, a: t.zeros_like(a),
    "mask": lambda t, a: t.arange(12.0).view(4, 3).sparse_mask(a.coalesce()),
    "from-dense": lambda t, a: a.to_dense().to_sparse(),
    "from-dense-1": lambda t, a: a.to_dense().to_sparse(1),
    "smm": lambda t, a: t.smm(a, t.arange(6.0).view(3, 2)),
    "dsmm": lambda t, a: t.dsmm(t.arange(8.0).view(2, 4), a) if t is mashal else t.arange(8.0).view(2, 4) @ a,
    "saddmm": lambda t, a: (t.saddmm if t is mashal else t.addmm)(t.ones(4, 2), a, t.arange(6.0).view(3, 2)),
    "sspaddmm": lambda t, a: t.sspaddmm(a, t.eye(4).to_sparse(), a.to_dense(), beta=2, alpha=3),
    "to_sparse_coo": lambda t, a: a.to_dense().to_sparse_coo(),
    "hspmm": lambda t, a: t.hspmm(a, t.ones(3, 2)),
    "relu": lambda t, a: t.relu(a),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_operation(name):
    same(FORMS[name](mashal, make(mashal)[0]), FORMS[name](torch, make(torch)[0]))


def test_what_it_is():
    for t in (mashal, torch):
        a, _ = make(t)
        assert isinstance(a, t.Tensor)
        assert (a.is_sparse, a._nnz(), a.sparse_dim(), a.dense_dim(), a.is_coalesced()) == (True, 5, 2, 0, False)
        assert (a.dim(), tuple(a.size()), a.size(0), a.numel(), len(a)) == (2, SIZE, 4, 12, 4)
        assert a.layout is t.sparse_coo
        assert a.coalesce().is_coalesced()
        assert a.coalesce()._nnz() == 4
        assert a.device.type == "cpu"
        assert not t.ones(2).is_sparse
        assert t.sparse_coo_tensor(t.tensor(INDICES), t.tensor(VALUES)).shape == (4, 3)
        assert t.sparse_coo_tensor((2, 3))._nnz() == 0


@pytest.mark.parametrize("coalesced", [False, True])
def test_repr(coalesced):
    a, b = make(mashal)[0], make(torch)[0]
    if coalesced:
        a, b = a.coalesce(), b.coalesce()
    assert repr(a) == repr(b).replace("torch.", "mashal.")
    a, b = a.double().coalesce().to_sparse_csr(), b.double().coalesce().to_sparse_csr()
    assert repr(a) == repr(b).replace("torch.", "mashal.")


def test_legacy_constructors():
    for t in (mashal, torch):
        i, v = t.tensor(INDICES), t.tensor(VALUES)
        a = t.sparse.FloatTensor(i, v, t.Size(SIZE))
        assert isinstance(a, t.sparse.FloatTensor)
        assert not isinstance(a, t.sparse.DoubleTensor)
        assert t.sparse.FloatTensor(2, 3)._nnz() == 0
        assert a.type() == "torch.sparse.FloatTensor"
        assert tuple(t.sparse.FloatTensor(i, v).shape) == SIZE


def test_values_with_dense_dimensions():
    for op in (lambda a: a.to_dense(), lambda a: a.coalesce().values(), lambda a: a.sum(), lambda a: a.transpose(0, 1)):
        found = []
        for t in (mashal, torch):
            v = t.arange(10.0).view(5, 2)
            found.append(op(t.sparse_coo_tensor(t.tensor(INDICES), v, (4, 3, 2))))
        same(*found)


@pytest.mark.parametrize(
    "product",
    [
        lambda t, a, x: t.sparse.mm(a, x),
        lambda t, a, x: t.spmm(a, x),
        lambda t, a, x: a @ x,
        lambda t, a, x: (a * 2).coalesce() @ x,
        lambda t, a, x: a.to_dense() @ x,
        lambda t, a, x: t.sparse.softmax(a.coalesce(), 1).to_dense() @ x,
        lambda t, a, x: t.sparse.sum(a) * x,
        lambda t, a, x: t.addmm(t.ones(4, 2), a, x),
    ],
)
def test_gradients(product):
    found = []
    for t in (mashal, torch):
        a, values = make(t, requires_grad=True)
        assert a.requires_grad
        x = t.arange(6.0).view(3, 2).requires_grad_()
        product(t, a, x).square().sum().backward()
        found.append((values.grad, x.grad))
    for a, b in zip(*found, strict=True):
        same(a, b)


def test_own_function_with_a_sparse_tensor():
    """The product of pyGAT, which saves a sparse tensor for backward."""
    found = []
    for t in (mashal, torch):

        class Product(t.autograd.Function):
            @staticmethod
            def forward(ctx, indices, values, shape, b, t=t):
                a = t.sparse_coo_tensor(indices, values, shape)
                ctx.save_for_backward(a, b)
                ctx.N = shape[0]
                return t.matmul(a, b)

            @staticmethod
            def backward(ctx, grad_output):
                a, b = ctx.saved_tensors
                grad_values = grad_b = None
                if ctx.needs_input_grad[1]:
                    dense = grad_output.matmul(b.t())
                    edges = a._indices()[0, :] * ctx.N + a._indices()[1, :]
                    grad_values = dense.reshape(-1)[edges]
                if ctx.needs_input_grad[3]:
                    grad_b = a.t().matmul(grad_output)
                return None, grad_values, None, grad_b

        values = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = t.arange(6.0).view(3, 2).requires_grad_()
        out = Product.apply(t.tensor([[0, 1, 2], [1, 2, 0]]), values, t.Size([3, 3]), b)
        out.square().sum().backward()
        found.append((out, values.grad, b.grad))
    for a, b in zip(*found, strict=True):
        same(a, b)


def test_graph_convolution_trains_as_pytorch():
    found = []
    for t in (mashal, torch):
        t.manual_seed(0)
        adjacency = t.sparse_coo_tensor(t.tensor(INDICES), t.tensor(VALUES), (4, 4))
        x = t.randn(4, 3)
        layer = t.nn.Linear(3, 2)
        optimizer = t.optim.SGD(layer.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = t.spmm(adjacency, layer(x)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found.append(losses)
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("index", [3, -1])
def test_indices_are_always_checked(index):
    with pytest.raises(RuntimeError, match="index"):
        mashal.sparse_coo_tensor([[0, index]], [1.0, 2.0], (3,))


def test_copies():
    a, _ = make(mashal)
    for b in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert b.layout is mashal.sparse_coo
        same(b, make(torch)[0])
    a.mul_(2)
    same(a, make(torch)[0] * 2)
    a.zero_()
    assert a._nnz() == 0


def test_csr_constructor_and_spdiags():
    found = []
    for t in (mashal, torch):
        csr = t.sparse_csr_tensor(t.tensor([0, 1, 3]), t.tensor([1, 0, 2]), t.tensor([1.0, 2.0, 3.0]), (2, 3))
        assert csr.layout is t.sparse_csr
        assert not csr.is_sparse
        assert csr.is_sparse_csr
        found.append((csr @ t.ones(3, 2), t.sparse.spdiags(t.arange(6.0).view(2, 3), t.tensor([0, -1]), (3, 3))))
    for a, b in zip(*found, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.sparse_coo_tensor(t.tensor([[0, 1]]), t.ones(3), (3,)),
        lambda t: t.sparse_coo_tensor(t.tensor([[0, 1]]), t.ones(2), (3, 4)),
        lambda t: t.ones(2).indices(),
        lambda t: t.ones(2).values(),
        lambda t: t.ones(2).coalesce(),
        lambda t: make(t)[0].indices(),
        lambda t: make(t)[0].values(),
        lambda t: make(t)[0].numpy(),
        lambda t: make(t)[0] + t.ones(4, 3),
        lambda t: make(t)[0] @ t.ones(4, 3),
        lambda t: t.sort(make(t)[0]),
        lambda t: t.cat([make(t)[0], t.ones(4, 3)]),
    ],
)
def test_errors(wrong):
    with pytest.raises(Exception) as expected:
        wrong(torch)
    with pytest.raises((expected.type, RuntimeError)):
        wrong(mashal)


def test_product_kernels_are_differentiable_twice():
    rows, columns = mashal.tensor([0, 2, 1, 2, 2]), mashal.tensor([1, 0, 1, 1, 1])
    values = mashal.randn(5, dtype=mashal.float64, requires_grad=True)
    dense = mashal.randn(2, 3, dtype=mashal.float64, requires_grad=True)

    def product(values, dense):
        return mashal._ops._spmm(rows, columns, values, dense, 3)

    assert mashal.autograd.gradcheck(product, (values, dense))
    assert mashal.autograd.gradgradcheck(product, (values, dense))
    same(
        product(values, dense),
        torch.tensor(
            mashal.sparse_coo_tensor([[0, 2, 1, 2, 2], [1, 0, 1, 1, 1]], values.detach(), (3, 2)).to_dense().numpy()
            @ dense.detach().numpy()
        ),
    )
    with pytest.raises(IndexError):
        mashal._ops._spmm(rows, columns, values, dense, 2)
    with pytest.raises(IndexError):
        mashal._ops._sampled_dots(rows, columns, dense, dense)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (np.asarray, TypeError),
        (lambda s: s.__dlpack__(), BufferError),
        (lambda s: s.data_ptr(), RuntimeError),
        (lambda s: s.untyped_storage(), NotImplementedError),
        (memoryview, (TypeError, BufferError)),
    ],
)
def test_a_sparse_tensor_gives_out_no_memory(ask, error):
    for t in (torch, mashal):
        with pytest.raises(error):
            ask(make(t)[0])


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_stack(dim):
    ours, theirs = (t.stack([make(t)[0], make(t)[0].coalesce() * 2], dim) for t in (mashal, torch))
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.to_dense().tolist() == theirs.to_dense().tolist()
    with pytest.raises(RuntimeError, match="equal size"):
        mashal.stack([make(mashal)[0], make(mashal, size=(5, 3))[0]])
    with pytest.raises(NotImplementedError, match=r"got Sparse \(4, 3\)"):
        mashal.flip(make(mashal)[0], (0,))
