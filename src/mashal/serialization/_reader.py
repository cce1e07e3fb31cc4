"""Reads pickles without running them: what a file may name, make and call is in a table (:mod:`._globals`).

Nothing is imported, and nothing is called but the guarded functions of the table and what the user has registered. The
machine has no recursion, and its memory is bounded by the size of the file.
"""

from __future__ import annotations

import codecs
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from .._core import Tensor
from .._pickling import _set_state, short
from ..nn.parameter import Parameter
from . import _globals, _numpy
from ._opcodes import python3_name

UnpicklingError = pickle.UnpicklingError

_DICTS = (dict, OrderedDict, Counter)
_STOP = 0x2E


def _truncated() -> UnpicklingError:
    return UnpicklingError("pickle data was truncated")


class PickleReader:
    """One pickle out of ``data``, from ``position``; afterwards ``position`` is behind it.

    Args:
        persistent_load: gives the storage for a persistent id.
        encoding: of the strings of Python 2; "bytes" leaves them as they are.

    Raises:
        UnpicklingError: for a pickle that asks for more than it may, or is damaged.
        EOFError: for a pickle that ends between two opcodes.
    """

    def __init__(
        self,
        data: Any,
        position: int = 0,
        persistent_load: Callable[[Any], Any] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.data = data
        self.position = position
        self.end = len(data)
        self.persistent_load = persistent_load
        self.encoding = encoding
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.users = _globals.user_globals()
        # Whether something is a registered object is asked by identity: equality would be the file's to define.
        self.user_ids = {id(value) for value in self.users.values()}
        self.numpy_calls: dict[int, Any] = {}

    def load(self) -> Any:
        handlers, data = _HANDLERS, self.data
        try:
            while True:
                at = self.position
                if at >= self.end:
                    raise EOFError("pickle data was truncated: no STOP")
                op = data[at]
                self.position = at + 1
                if op == _STOP:
                    return self.stack.pop()
                handlers[op](self)
        except (UnpicklingError, EOFError):
            raise
        except (
            ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
        ) as error:  # fmt: skip
            raise UnpicklingError(f"{type(error).__name__}: {str(error)[:300]}") from error

    # ---- pieces of the data ----

    def take(self, n: int) -> Any:
        at = self.position
        stop = at + n
        if stop > self.end:
            raise _truncated()
        self.position = stop
        return self.data[at:stop]

    def number(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def line(self) -> bytes:
        at = self.position
        stop = self.data.find(b"\n", at)
        if stop < 0:
            raise _truncated()
        self.position = stop + 1
        return bytes(self.data[at:stop])

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            raise UnpicklingError("could not find MARK")
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items

    # ---- globals, calls, objects ----

    def find(self, module: str, name: str) -> Any:
        module, name = python3_name(module, name)
        full = f"{module}.{name}"
        if _globals.blocked(module):
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full[:200]} whose module {module} is blocked.")
        known = _globals.table().get(full)
        if known is not None:
            return known.value
        if full in self.users:
            return self.users[full]
        if module.startswith("numpy") and full in _numpy.table():
            value, call = _numpy.table()[full]
            if call is not None:
                self.numpy_calls[id(value)] = call
            return value
        reason = _globals.unsupported(full)
        if reason is not None:
            raise UnpicklingError(f"GLOBAL {full[:200]}: {reason[:200]}.")
        full = full.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {full[:200]} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full[:200]}])` or the `torch.serialization.safe_globals"
            f"([{full[:200]}])` context manager to allowlist this global if you trust this class/function."
        )

    def guarded(self, function: Any) -> Callable[..., Any] | None:
        """The form in which the file may call something; None if it may not."""
        call = _globals.calls().get(id(function)) or self.numpy_calls.get(id(function))
        if call is None and id(function) in self.user_ids:
            return function  # type: ignore[no-any-return]
        return call

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack[-1]
        call = self.guarded(function)
        if call is None:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {_named(function)}")
        if type(arguments) is not tuple:
            raise UnpicklingError(f"the arguments of a call must be a tuple, got {short(arguments)}")
        self.stack[-1] = call(*arguments)

    def make(self, keywords: Any = None) -> None:
        arguments, cls = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple or (keywords is not None and type(keywords) is not dict):
            raise UnpicklingError(f"the arguments of a new object must be a tuple, got {short(arguments)}")
        if id(cls) in self.user_ids and isinstance(cls, type):
            self.stack.append(cls.__new__(cls, *arguments, **(keywords or {})))
            return
        call = _globals.calls().get(id(cls))
        if call is None or not isinstance(cls, type) or keywords:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{_named(cls)}"
            )
        self.stack.append(call(*arguments))

    def build(self) -> None:
        state, obj = self.stack.pop(), self.stack[-1]
        kind = type(obj)
        if kind is Tensor or kind is Parameter:
            self._build_tensor(obj, state)
        elif kind is OrderedDict:
            obj.__dict__.update(state)
        elif id(kind) in self.user_ids:
            _build_registered(obj, state)
        elif kind.__module__ in ("numpy", "numpy.dtypes"):
            self._build_numpy(obj, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}"
            )

    def _build_tensor(self, obj: Tensor, state: Any) -> None:
        from .._pickling import _rebuild_tensor

        if not isinstance(state, tuple) or len(state) not in (3, 4, 5):
            raise UnpicklingError(f"invalid state of a tensor: {short(state)}")
        if len(state) == 4:  # storage, offset, size, stride
            obj.data = _rebuild_tensor(*state).to(obj.dtype)
        elif len(state) == 5 and not isinstance(state[0], Tensor):
            raise UnpicklingError("invalid state of a tensor")
        else:
            obj.__setstate__(state)  # type: ignore[operator]

    def _build_numpy(self, obj: Any, state: Any) -> None:
        import numpy as np

        if isinstance(obj, np.dtype):
            _numpy.build_dtype(obj, state)
        elif type(obj) is np.ndarray:
            _numpy.build_array(obj, state)
        else:
            raise UnpicklingError(f"Can only build NumPy's arrays and dtypes, but got {type(obj)}")

    # ---- containers ----

    def set_items(self, items: list[Any], opcode: str) -> None:
        target = self.stack[-1]
        if type(target) not in _DICTS and not (id(type(target)) in self.user_ids and isinstance(target, dict)):
            raise UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        if len(items) % 2:
            raise UnpicklingError("odd number of items for a dict")
        for i in range(0, len(items), 2):
            target[_globals.check_key(items[i])] = items[i + 1]

    def extend(self, items: list[Any], verb: str) -> None:
        target = self.stack[-1]
        if type(target) is not list and not (id(type(target)) in self.user_ids and isinstance(target, list)):
            raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
        target.extend(items)

    def persistent(self) -> None:
        pid = self.stack.pop()
        if type(pid) not in (tuple, int):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if self.persistent_load is None:
            raise UnpicklingError("unsupported persistent id encountered")
        if type(pid) is not tuple or not pid or pid[0] not in ("storage", b"storage"):
            kind = pid[0] if type(pid) is tuple and pid else pid
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {short(kind)}")
        self.stack.append(self.persistent_load(pid))

    def string(self, data: Any) -> None:
        data = bytes(data)
        self.stack.append(data if self.encoding == "bytes" else data.decode(self.encoding))

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise UnpicklingError(f"Memo value not found at index {short(index)}")
        self.stack.append(self.memo[index])


def _named(obj: Any) -> str:
    """A class or function by its name; of other things only their kind."""
    if isinstance(obj, type) or callable(obj):
        return f"{getattr(obj, '__module__', '?')}.{getattr(obj, '__qualname__', type(obj).__name__)}"
    return short(obj)


def _build_registered(obj: Any, state: Any) -> None:
    """BUILD of an object whose class the user has registered, as ``pickle`` does it."""
    setstate = getattr(obj, "__setstate__", None)
    if setstate is not None:
        setstate(state)
        return
    _set_state(obj, state)


# ---- opcodes ----

_HANDLERS: list[Callable[[PickleReader], Any]] = []


def _unsupported(op: int) -> Callable[[PickleReader], None]:
    def handler(r: PickleReader) -> None:
        raise UnpicklingError(f"Unsupported operand {op}")

    return handler


def _proto(r: PickleReader) -> None:
    protocol = r.number(1)
    if protocol > 5:
        raise UnpicklingError(f"unsupported pickle protocol: {protocol}")


# The most frequent opcodes; data that ends here gives an IndexError, which becomes an UnpicklingError.
def _binput(r: PickleReader) -> None:
    at = r.position
    r.memo[r.data[at]] = r.stack[-1]
    r.position = at + 1


def _binget(r: PickleReader) -> None:
    at = r.position
    r.get(r.data[at])
    r.position = at + 1


def _binint1(r: PickleReader) -> None:
    at = r.position
    r.stack.append(r.data[at])
    r.position = at + 1


def _frame(r: PickleReader) -> None:
    if r.number(8) > r.end - r.position:
        raise _truncated()


def _mark(r: PickleReader) -> None:
    r.marks.append(len(r.stack))


def _pop(r: PickleReader) -> None:
    # A MARK is on the stack, too.
    if r.marks and r.marks[-1] == len(r.stack):
        r.marks.pop()
    else:
        r.stack.pop()


def _tuple(n: int) -> Callable[[PickleReader], None]:
    def handler(r: PickleReader) -> None:
        if len(r.stack) < n:
            raise UnpicklingError("pickle stack underflow")
        r.stack[-n:] = [tuple(r.stack[-n:])]

    return handler


def _push(value: Any) -> Callable[[PickleReader], None]:
    return lambda r: r.stack.append(value)


def _int(r: PickleReader) -> None:
    text = r.line()
    r.stack.append({b"00": False, b"01": True}[text] if text in (b"00", b"01") else int(text))


def _long(r: PickleReader) -> None:
    r.stack.append(int(r.line().removesuffix(b"L")))


def _counted_long(n: int) -> Callable[[PickleReader], None]:
    def handler(r: PickleReader) -> None:
        r.stack.append(int.from_bytes(r.take(r.number(n)), "little", signed=True))

    return handler


def _text_string(r: PickleReader) -> None:
    text = r.line()
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
        raise UnpicklingError("the STRING opcode argument must be quoted")
    r.string(codecs.escape_decode(text[1:-1])[0])  # type: ignore[attr-defined]


def _unicode(n: int) -> Callable[[PickleReader], None]:
    def handler(r: PickleReader) -> None:
        r.stack.append(str(r.take(r.number(n)), "utf-8", "surrogatepass"))

    return handler


def _bytes(n: int, kind: Callable[[Any], Any]) -> Callable[[PickleReader], None]:
    def handler(r: PickleReader) -> None:
        r.stack.append(kind(r.take(r.number(n))))

    return handler


def _global(r: PickleReader) -> None:
    module, name = r.line(), r.line()
    r.stack.append(r.find(module.decode(), name.decode()))


def _stack_global(r: PickleReader) -> None:
    name, module = r.stack.pop(), r.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    r.stack.append(r.find(module, name))


def _items(items: list[Any]) -> dict[Any, Any]:
    return {_globals.check_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)}


def _set_items(r: PickleReader) -> None:
    r.set_items(r.pop_mark(), "SETITEMS")


def _set_item(r: PickleReader) -> None:
    value, key = r.stack.pop(), r.stack.pop()
    r.set_items([key, value], "SETITEM")


def _add_items(r: PickleReader) -> None:
    items, target = r.pop_mark(), r.stack[-1]
    if type(target) is not set:
        raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
    target.update(_globals.check_key(item) for item in items)


def _new_with_keywords(r: PickleReader) -> None:
    keywords = r.stack.pop()
    r.make(keywords)


_TABLE: dict[str, Callable[[PickleReader], Any]] = {
    "PROTO": _proto,
    "FRAME": _frame,
    "MARK": _mark,
    "POP": _pop,
    "POP_MARK": lambda r: r.pop_mark() and None,
    "DUP": lambda r: r.stack.append(r.stack[-1]),
    "NONE": _push(None),
    "NEWTRUE": _push(True),
    "NEWFALSE": _push(False),
    "INT": _int,
    "LONG": _long,
    "BININT": lambda r: r.stack.append(int.from_bytes(r.take(4), "little", signed=True)),
    "BININT1": _binint1,
    "BININT2": lambda r: r.stack.append(r.number(2)),
    "LONG1": _counted_long(1),
    "LONG4": _counted_long(4),
    "FLOAT": lambda r: r.stack.append(float(r.line())),
    "BINFLOAT": lambda r: r.stack.append(struct.unpack(">d", r.take(8))[0]),
    "STRING": _text_string,
    "BINSTRING": lambda r: r.string(r.take(r.number(4))),
    "SHORT_BINSTRING": lambda r: r.string(r.take(r.number(1))),
    "UNICODE": lambda r: r.stack.append(codecs.raw_unicode_escape_decode(r.line())[0]),
    "SHORT_BINUNICODE": _unicode(1),
    "BINUNICODE": _unicode(4),
    "BINUNICODE8": _unicode(8),
    "SHORT_BINBYTES": _bytes(1, bytes),
    "BINBYTES": _bytes(4, bytes),
    "BINBYTES8": _bytes(8, bytes),
    "BYTEARRAY8": _bytes(8, bytearray),
    "EMPTY_TUPLE": _push(()),
    "TUPLE": lambda r: r.stack.append(tuple(r.pop_mark())),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "EMPTY_LIST": lambda r: r.stack.append([]),
    "LIST": lambda r: r.stack.append(r.pop_mark()),
    "APPEND": lambda r: r.extend([r.stack.pop()], "append to"),
    "APPENDS": lambda r: r.extend(r.pop_mark(), "extend"),
    "EMPTY_DICT": lambda r: r.stack.append({}),
    "DICT": lambda r: r.stack.append(_items(r.pop_mark())),
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "EMPTY_SET": lambda r: r.stack.append(set()),
    "ADDITEMS": _add_items,
    "FROZENSET": lambda r: r.stack.append(frozenset(_globals.check_key(i) for i in r.pop_mark())),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": PickleReader.call,
    "NEWOBJ": PickleReader.make,
    "NEWOBJ_EX": _new_with_keywords,
    "BUILD": PickleReader.build,
    "BINPERSID": PickleReader.persistent,
    "PUT": lambda r: r.put(int(r.line())),
    "BINPUT": _binput,
    "LONG_BINPUT": lambda r: r.put(r.number(4)),
    "MEMOIZE": lambda r: r.put(len(r.memo)),
    "GET": lambda r: r.get(int(r.line())),
    "BINGET": _binget,
    "LONG_BINGET": lambda r: r.get(r.number(4)),
}
_HANDLERS += [_unsupported(op) for op in range(256)]
for _name, _handler in _TABLE.items():
    _HANDLERS[getattr(pickle, _name)[0]] = _handler
