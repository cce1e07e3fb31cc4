# ruff: noqa: F822 - the names are put in below
"""Functions that PyTorch keeps in a module of their own."""

import mashal as _mashal

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank",
    "tensordot", "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip

globals().update({name: getattr(_mashal, name) for name in __all__})
