"""Copies of a module on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """One copy of the module tree per device. Gradients of the copies' tensors flow to the originals.

    Args: ``detach``: cut the copies off instead.
    """
    replicas = []
    for device in devices:
        copies: dict[int, Any] = {}
        for module in network.modules():
            replica = module.__new__(type(module))
            replica.__dict__ = module.__dict__.copy()
            for table in ("_parameters", "_buffers", "_modules"):
                replica.__dict__[table] = dict(module.__dict__[table])
            copies[id(module)] = replica
        for module in network.modules():
            replica = copies[id(module)]
            for name, child in module._modules.items():
                replica._modules[name] = None if child is None else copies[id(child)]
            for table in ("_parameters", "_buffers"):
                for name, t in module.__dict__[table].items():
                    if t is not None:
                        moved = t.to(device)
                        # A plain tensor, which is no leaf: the copies own no parameters.
                        replica.__dict__[table][name] = moved.detach() if detach else moved.view_as(moved)
        replicas.append(copies[id(network)])
    return replicas
