"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mashal

from .. import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import _functional_call


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls the module with the given tensors in place of its parameters and buffers of those names.

    Args:
        parameter_and_buffer_dicts: tensors by dotted name, or several such mappings with different names. What the
            module assigns to a buffer during the call is written back to the mapping.
        args: positional arguments; one that is not a tuple is the only one.
        kwargs: keyword arguments.
        tie_weights: a tensor that the module has under several names is replaced under all of them.
        strict: demand that exactly the module's parameters and buffers are given.

    Raises:
        ValueError: mappings share a name, or tied names get different values.
        RuntimeError: (``strict``) names are missing or unexpected.

    Example:
        >>> import mashal
        >>> layer = mashal.nn.Linear(1, 1)
        >>> new = {"weight": mashal.full((1, 1), 2.0), "bias": mashal.ones(1)}
        >>> mashal.func.functional_call(layer, new, mashal.ones(1, 1)).item()
        3.0
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in parameter_and_buffer_dicts for name in d]
        twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        if twice:
            raise ValueError(
                f"{sorted(twice)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        tensors = {name: t for d in parameter_and_buffer_dicts for name, t in d.items()}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several models of one kind, each stacked along a new first dimension.

    Raises: RuntimeError for no models, models of different classes, or in different modes.

    Example:
        >>> import mashal
        >>> params, buffers = mashal.func.stack_module_state([mashal.nn.Linear(2, 3) for _ in range(4)])
        >>> params["weight"].shape
        mashal.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {k: _stacked([dict(m.named_parameters())[k] for m in models]) for k, _ in models[0].named_parameters()}
    buffers = {k: _stacked([dict(m.named_buffers())[k] for m in models]) for k, _ in models[0].named_buffers()}
    return params, buffers


def _stacked(tensors: list[Tensor]) -> Tensor:
    if any(t.requires_grad != tensors[0].requires_grad for t in tensors):
        raise RuntimeError("Expected each parameter (or buffer) to have the same .requires_grad in all models")
    with mashal.no_grad():
        return mashal.stack([t.detach() for t in tensors]).requires_grad_(tensors[0].requires_grad)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Takes the running statistics from all batch normalisations, which then use the batch's. In place."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
