"""Handles with which a registered hook can be removed again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, ClassVar

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook from the dictionary that it was registered in.

    The handle refers to the dictionary weakly, so keeping a handle does not keep the hooked object alive.
    Used as a context manager it removes the hook on leaving the block.

    Args:
        hooks_dict: the ordered dictionary ``{id: hook}`` that the hook is about to be entered in, under ``handle.id``.
        extra_dict: one dictionary, or several, whose entry of the same id goes together with the hook.
    """

    next_id: ClassVar[int] = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            extras: Iterable[Any] = ()
        elif isinstance(extra_dict, dict):
            extras = (extra_dict,)
        else:
            extras = extra_dict
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras)

    def remove(self) -> None:
        """Remove the hook; removing it twice does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int, tuple[Any, ...]]:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        # A dictionary that died before pickling is replaced by an empty one: there is nothing left to remove.
        hooks, self.id = state[0], state[1]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extras = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extras)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


class HookHandle(RemovableHandle):
    """A handle whose hook lives in the core: removing it calls a function, once.

    Args:
        remove: takes the hook out; calling it again does nothing.
    """

    def __init__(self, remove: Any) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self._remove = remove

    def remove(self) -> None:
        """Remove the hook; removing it twice does nothing."""
        self._remove()
