"""Other parameters and state in an optimizer, for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .. import Tensor
from .optimizer import Optimizer, StateDict


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: StateDict
) -> Iterator[None]:
    """Within the context, the optimizer steps ``swapin_parameters`` with ``swapin_optim_state``, not its own.

    Args:
        optimizer: whose state exists already.
        swapin_parameters: in the order of the optimizer's own.
        swapin_optim_state: as ``state_dict`` returns it; its tensors are updated in place, other changes are dropped.

    Raises:
        ValueError: for another number of parameters or groups.
    """
    groups = optimizer.param_groups
    parameters = list(swapin_parameters.values())
    count = sum(len(group["params"]) for group in groups)
    if len(parameters) != count:
        raise ValueError(f"swapin_parameters must be as many as the optimizer's, {count}, got {len(parameters)}")
    given = swapin_optim_state["param_groups"]
    if [len(g["params"]) for g in given] != [len(g["params"]) for g in groups]:
        raise ValueError("swapin_optim_state must have as many groups and parameters as the optimizer")
    by_id = dict(zip((i for g in given for i in g["params"]), parameters, strict=True))
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in swapin_optim_state["state"].items():
        state[by_id.get(key, key)] = dict(value) if isinstance(value, dict) else value
    own = optimizer.state
    optimizer.state = state
    optimizer.param_groups = [{**g, "params": [by_id[i] for i in g["params"]]} for g in given]
    try:
        yield
    finally:
        optimizer.state, optimizer.param_groups = own, groups
