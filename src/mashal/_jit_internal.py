# ruff: noqa: PLC0414 - programs import these names from here
"""Marks of TorchScript under the name by which libraries import them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .futures import Future as Future
from .jit._marks import Final as Final
from .jit._marks import _overload as _overload
from .jit._marks import _overload_method as _overload_method
from .jit._marks import export as export
from .jit._marks import ignore as ignore
from .jit._marks import is_scripting as is_scripting
from .jit._marks import unused as unused
from .jit.annotations import Any as Any
from .jit.annotations import Dict as Dict
from .jit.annotations import List as List
from .jit.annotations import Optional as Optional
from .jit.annotations import Tuple as Tuple

T = TypeVar("T")


def _copy_to_script_wrapper(fn: T) -> T:
    """The function."""
    return fn


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, by the value of an argument."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__name__, fn.__module__, fn.__doc__ = func_name, module_name, if_true.__doc__
    return fn
