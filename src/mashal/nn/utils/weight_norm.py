"""Weight normalisation by a hook (Salimans and Kingma 2016): length and direction of a weight as two parameters."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import mashal

from ... import Tensor
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def _norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norm over all dimensions but one, which are kept with size 1; over all of them for -1."""
    if dim == -1:
        return v.norm()
    return v.norm(2, [d for d in range(v.dim()) if d != dim % v.dim()], True) if v.dim() > 1 else v.abs()


def _weight(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return v * (g / _norm_except_dim(v, dim))


class WeightNorm:
    """The hook: computes ``weight = g v / |v|`` before every call of the module."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight from its two parameters."""
        return _weight(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int) -> WeightNorm:
        """Replaces a parameter by two, and installs the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(_norm_except_dim(weight, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Module) -> None:
        """Makes the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int = 0) -> M:
    """Splits a parameter into its length ``<name>_g`` and its direction ``<name>_v``.

    Deprecated in favour of :func:`mashal.nn.utils.parametrizations.weight_norm`.

    Args:
        dim: dimension along which every slice has its own length; ``None`` for one length.

    Example:
        >>> import mashal, warnings; warnings.simplefilter("ignore")
        >>> layer = mashal.nn.utils.weight_norm(mashal.nn.Linear(20, 40))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (mashal.Size([40, 1]), mashal.Size([40, 20]))
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undoes :func:`weight_norm`. ValueError if there is none."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            with mashal.no_grad():
                hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
