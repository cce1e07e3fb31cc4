"""What autocast does to the arguments of each op: PyTorch's lists for the CPU, found by asking it op by op.

An op that is not named here takes its arguments as they come. A policy covers what the op is composed of: inside it,
nothing is cast any more. ``tests/amp/test_cast_policies.py`` compares the types of all results with PyTorch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core

F = TypeVar("F", bound=Callable[..., Any])

# To the low-precision type: products, which matrix units speed up.
_LOWER = """
    _convolution addbmm addmm baddbmm bmm linalg_vecdot linear lstm matmul mm prelu rnn_relu rnn_relu_cell
    rnn_tanh rnn_tanh_cell scaled_dot_product_attention
"""
# To float32: sums of many terms, losses, decompositions, and what has no kernel for the half types in PyTorch.
_FLOAT32 = """
    _ctc_loss adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits
    cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy_loss ctc_loss
    fractional_max_pool2d fractional_max_pool3d grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss
    huber_loss inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank
    linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss
    max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss_nd orgqr
    ormqr geqrf pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d reflection_pad2d replication_pad1d
    replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace triangular_solve
    triplet_margin_loss view_as_complex
    fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft
    fft_rfft2 fft_rfftn
"""
# To the widest type among the arguments.
_PROMOTE = "cat index_copy stack"
# As they come, although the op is composed of products here.
_EXEMPT = "bilinear matrix_exp linalg_matrix_exp"

POLICIES: dict[str, str] = {
    name: policy
    for policy, names in (("lower", _LOWER), ("float32", _FLOAT32), ("promote", _PROMOTE), ("exempt", _EXEMPT))
    for name in names.split()
}


def cast(fn: F, name: str | None = None) -> F:
    """Gives a composite the policy of its name, if there is one."""
    policy = POLICIES.get(name or fn.__name__)
    if policy is None:
        return fn

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _core.autocast_on() and kwargs.get("out") is None:
            return _core.call_autocast(fn, policy, args, kwargs)
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]
