"""Ready-made parametrizations: orthogonal matrices, spectral and weight normalisation."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import mashal

from ... import Tensor
from ..functional import normalize
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import _default_dim
from .weight_norm import _norm_except_dim, _weight

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    n, k = Q.shape[-2:]
    if eps is None:
        eps = 10.0 * n * mashal.finfo(Q.dtype).eps
    return mashal.allclose(Q.mH @ Q, mashal.eye(k, dtype=Q.dtype, device=Q.device), atol=eps)


def _make_orthogonal(A: Tensor) -> Tensor:
    """The factor Q of A = Q R with a positive diagonal of R, which makes it unique."""
    X, tau = mashal.geqrf(A)
    Q = mashal.linalg.householder_product(X, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (or rows, if wide) from any matrix of its shape.

    With ``use_trivialization`` the result is ``base @ map(X)``, so that every value can be assigned: ``base`` takes it.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        n, k = X.shape[-2:]
        if self.orthogonal_map == _OrthMaps.householder:
            A = X.tril(-1)
            tau = 2.0 / (1.0 + (A * A).sum(-2))
            # The diagonal holds signs.
            signs = X.diagonal(dim1=-2, dim2=-1).int()
            Q = mashal.linalg.householder_product(A, tau) * signs.unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = mashal.cat([X, X.new_zeros((*X.shape[:-2], n, n - k))], -1)
            A = X - X.mH  # skew: both maps take it to an orthogonal matrix
            if self.orthogonal_map == _OrthMaps.matrix_exp:
                Q = mashal.matrix_exp(A)
            else:
                one = mashal.eye(n, dtype=A.dtype, device=A.device)
                Q = mashal.linalg.solve(one - 0.5 * A, one + 0.5 * A)
            Q = Q[..., :k] if n != k else Q
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {tuple(self.shape)}. Got a tensor of shape "
                f"{tuple(Q.shape)}."
            )
        with mashal.no_grad():
            return self._inverse(Q)

    def _inverse(self, Q: Tensor) -> Tensor:
        given = Q
        wide = Q.size(-2) < Q.size(-1)
        if wide:
            Q = Q.mT
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            # The reflections whose product is Q; the diagonal takes their signs.
            A, tau = mashal.geqrf(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            signs = diagonal.sign()
            diagonal.copy_(signs.where(tau != 0, -signs))
            return A.mT if wide else A
        if n != k:
            rest = mashal.randn((*Q.shape[:-2], n, n - k), dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(mashal.cat([Q, rest], -1))
        elif _is_orthogonal(Q):
            Q = Q.clone()
        else:
            Q = _make_orthogonal(Q)
        self.base = Q
        # Both maps take this to the identity.
        start = mashal.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a matrix (or a batch of them) orthogonal, or unitary if complex.

    Args:
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; default the first for square or complex
            matrices, else the last.
        use_trivialization: keep a base point, so that every orthogonal value can be assigned.

    Raises:
        ValueError: the tensor is no matrix, or the map is unknown.
    Source: M. Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.utils.parametrizations.orthogonal(mashal.nn.Linear(2, 4))
        >>> mashal.allclose(layer.weight.T @ layer.weight, mashal.eye(2), atol=1e-5)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(
        module, name, _Orthogonal(weight, kind, use_trivialization=use_trivialization), unsafe=True
    )


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Splits a weight into its length (``original0``) and its direction (``original1``).

    State dictionaries of the older hook, with ``<name>_g`` and ``<name>_v``, can be loaded.

    Args:
        dim: dimension along which every slice has its own length; ``None`` for one length.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.utils.parametrizations.weight_norm(mashal.nn.Linear(20, 40))
        >>> layer.parametrizations.weight.original0.shape
        mashal.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value, improved at every use in training mode."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            h, w = matrix.shape
            u = matrix.new_empty(h).normal_(0, 1)
            v = matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            # A good start, because in evaluation mode no steps are made.
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        with mashal.no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(normalize(mashal.mv(weight_mat, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(mashal.mv(weight_mat.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Backward needs these values; the next call overwrites the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / mashal.vdot(u, mashal.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        # Taken as it is: a value whose norm is 1 already stays the same.
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by (an estimate of) its largest singular value (Miyato et al. 2018).

    Args:
        n_power_iterations: steps of the power method per use in training mode.
        eps: added where vectors are normalised.
        dim: dimension of the outputs; default 1 for transposed convolutions, else 0.

    Raises:
        ValueError: there is no such tensor. IndexError: ``dim`` is out of range.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.utils.parametrizations.spectral_norm(mashal.nn.Linear(20, 40))
        >>> bool((mashal.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 0.2)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = _default_dim(module)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
