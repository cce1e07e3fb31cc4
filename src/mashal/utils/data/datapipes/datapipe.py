"""The base classes of pipes: streams (:class:`IterDataPipe`) and data with keys (:class:`MapDataPipe`)."""

from __future__ import annotations

import functools
import inspect
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class DataChunk(list[_T]):
    """A batch of samples."""

    def __init__(self, items: Iterable[_T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples, separated by commas."""
        return indent + "[" + ", ".join(str(item) for item in iter(self)) + "]"

    def raw_iterator(self) -> Iterator[_T]:
        """The samples as they were given."""
        yield from self.items


class _Functional:
    """Methods that are other pipes: ``pipe.batch(3)`` is ``Batcher(pipe, 3)``."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None

    def __getattr__(self, name: str) -> Any:
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        bound = functools.partial(function, self)
        functools.update_wrapper(bound, function, assigned=("__doc__",))
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make ``pipe.<function_name>(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls,
        function_name: str,
        cls_to_register: Any,
        enable_df_api_tracing: bool = False,  # noqa: ARG003 - data frames are not traced
    ) -> None:
        """Make ``pipe.<function_name>(...)`` build a pipe of a class.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def build(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        functools.update_wrapper(build, cls_to_register, assigned=("__doc__",))
        cls.functions[function_name] = build

    def __getstate__(self) -> Any:
        hook = _Functional.getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = _Functional.reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """What is pickled of the attributes of every pipe; None for all."""
        if _Functional.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        _Functional.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """How every pipe is pickled; None for the usual way."""
        if _Functional.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        _Functional.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __str__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class _SingleIterator(Iterator[Any]):
    """An iterator of a pipe, valid until the pipe is asked for another one."""

    def __init__(self, pipe: IterDataPipe[Any], make: Callable[[Any], Iterator[Any]], lazy: bool) -> None:
        self._pipe = pipe
        self._make = make
        self._iterator: Iterator[Any] | None = None
        if not lazy:
            self._begin()

    def _begin(self) -> Iterator[Any]:
        pipe = self._pipe
        pipe._number_of_samples_yielded = 0
        pipe._valid_iterator_id = self._id = (pipe._valid_iterator_id or 0) + 1
        pipe.reset()
        self._iterator = iterator = self._make(pipe)
        return iterator

    def __next__(self) -> Any:
        pipe = self._pipe
        iterator = self._iterator
        if iterator is None:
            iterator = self._begin()
        elif self._id != pipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {pipe!r}\nThere is a single iterator per IterDataPipe constraint: use fork() to read a "
                "pipe at several places."
            )
        value = next(iterator)
        pipe._number_of_samples_yielded += 1
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class IterDataPipe(_Functional, IterableDataset[_T_co]):
    """A stream of samples: a subclass defines ``__iter__``, and ``reset`` if a pass leaves something behind.

    There is one valid iterator at a time: a new one resets the pipe and invalidates the one before.

    Example:
        >>> import mashal.utils.data.datapipes.iter as pipes
        >>> list(pipes.IterableWrapper(range(5)).map(str).batch(2))
        [['0', '1'], ['2', '3'], ['4']]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__iter__")
        if own is None:
            return
        lazy = inspect.isgeneratorfunction(own)

        @functools.wraps(own)
        def single(self: Any) -> Iterator[Any]:
            return _SingleIterator(self, own, lazy)

        cls.__iter__ = single  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[Any]:
        return self  # type: ignore[return-value]

    def reset(self) -> None:
        """Go back to the state before the first pass; called by every new iterator."""


class DFIterDataPipe(IterDataPipe[_T_co]):
    """A stream of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Functional, Dataset[_T_co]):
    """Samples with keys: a subclass defines ``__getitem__`` and ``__len__``.

    Example:
        >>> import mashal.utils.data.datapipes.map as pipes
        >>> list(pipes.SequenceWrapper([1, 2, 3]).map(str))
        ['1', '2', '3']
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def _check_picklable(function: Any) -> None:
    """Warn about a function that processes cannot be sent."""
    inner = function.func if isinstance(function, functools.partial) else function
    if not callable(inner):
        raise TypeError(f"A callable function is expected, but {type(inner)} is provided.")
    if not inspect.isfunction(inner):
        return
    kind = "Local" if "<locals>" in inner.__qualname__ else "Lambda" if inner.__name__ == "<lambda>" else None
    if kind is not None:
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial "
            "instead.",
            stacklevel=3,
        )


def _length(pipe: Any, of: Any) -> int:
    """The length of a source; TypeError that names the pipe if it has none."""
    try:
        return len(of)
    except (TypeError, NotImplementedError):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length") from None


def _children(pipe: Any) -> list[Any]:
    """The pipes that a pipe refers to, found by pickling it."""
    found: list[Any] = []

    class Finder(pickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, (IterDataPipe, MapDataPipe)) and obj is not pipe:
                if not any(obj is other for other in found):
                    found.append(obj)
                return str, ()
            return NotImplemented

    class Nowhere:
        def write(self, data: Any) -> int:
            return len(data)

    state = pipe.__getstate__()
    values = state.values() if isinstance(state, dict) else state if isinstance(state, tuple) else (state,)
    for value in values:
        try:
            Finder(Nowhere()).dump(value)
        except (pickle.PicklingError, AttributeError, TypeError):  # a value that is no pipe, such as a function
            continue
    return found
