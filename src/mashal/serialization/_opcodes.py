"""The opcodes of pickles: their numbers and a scanner that runs nothing; renaming of the globals in a pickle."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any

# Bytes that follow an opcode.
_FIXED = {
    **dict.fromkeys(b"(.012NQRbadeo])}lstu", 0),
    **dict.fromkeys((0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8F, 0x90, 0x91, 0x92, 0x93, 0x94, 0x97, 0x98), 0),
    **dict.fromkeys((*b"Khq", 0x80, 0x82), 1),
    **dict.fromkeys((*b"M", 0x83), 2),
    **dict.fromkeys((*b"Jjr", 0x84), 4),
    **dict.fromkeys((*b"G", 0x95), 8),
}
# Length in so many bytes, then the data.
_COUNTED = {
    **dict.fromkeys((*b"UC", 0x8A, 0x8C), 1),
    **dict.fromkeys((*b"TBX", 0x8B), 4),
    **dict.fromkeys((0x8D, 0x8E, 0x96), 8),
}
_LINES = {**dict.fromkeys(b"ILFSVgpP", 1), **dict.fromkeys(b"ci", 2)}

# Module names of Python 2 are those of Python 3 in files that PyTorch users have.
_PYTHON2 = {
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "Queue": "queue",
    "SocketServer": "socketserver",
    "ConfigParser": "configparser",
    "cPickle": "pickle",
    "UserDict": "collections",
    "UserList": "collections",
    "UserString": "collections",
}
_PYTHON2_NAMES = {
    ("__builtin__", "xrange"): ("builtins", "range"),
    ("__builtin__", "unicode"): ("builtins", "str"),
    ("__builtin__", "long"): ("builtins", "int"),
}


def python3_name(module: str, name: str) -> tuple[str, str]:
    """Where Python 3 has a global of Python 2."""
    renamed = _PYTHON2_NAMES.get((module, name))
    return renamed or (_PYTHON2.get(module, module), name)


def scan(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(opcode, where it is, where its argument begins, where that ends), to the STOP.

    Raises:
        UnpicklingError: for an opcode that does not exist, or a pickle that ends early.
    """
    at, end = 0, len(data)
    fixed, counted, lines = _FIXED, _COUNTED, _LINES
    while at < end:
        op = data[at]
        start = at + 1
        if (n := fixed.get(op)) is not None:
            stop = start + n
        elif (n := counted.get(op)) is not None:
            start += n
            stop = start + int.from_bytes(data[start - n : start], "little")
        elif (n := lines.get(op)) is not None:
            stop = start
            for _ in range(n):
                stop = data.find(b"\n", stop) + 1
                if stop == 0:
                    raise pickle.UnpicklingError("pickle data was truncated")
        else:
            raise pickle.UnpicklingError(f"Unsupported operand {op}")
        if stop > end:
            raise pickle.UnpicklingError("pickle data was truncated")
        yield op, at, start, stop
        if op == 0x2E:  # STOP
            return
        at = stop
    raise EOFError("pickle data was truncated: no STOP")


class _Strings:
    """The strings on top of the stack and in the memo, as far as STACK_GLOBAL needs them."""

    def __init__(self) -> None:
        self.top: list[str | None] = []
        self.memo: dict[int, str | None] = {}
        self.memoized = 0

    def step(self, op: int, argument: bytes) -> tuple[str, str] | None:
        """Follows one opcode; the global that a STACK_GLOBAL names."""
        if op in (0x8C, 0x58, 0x8D):
            self.top = [*self.top[-1:], argument.decode("utf-8", "surrogatepass")]
        elif op == 0x94:
            self.memo[self.memoized] = self.top[-1] if self.top else None
            self.memoized += 1
        elif op in b"qr":
            self.memo[int.from_bytes(argument, "little")] = self.top[-1] if self.top else None
        elif op in b"hj":
            self.top = [*self.top[-1:], self.memo.get(int.from_bytes(argument, "little"))]
        elif op == 0x93:
            names, self.top = self.top, []
            if len(names) == 2 and names[0] is not None and names[1] is not None:
                return names[0], names[1]
            return "?", "?"
        elif op not in (0x95, 0x80):
            self.top = []
        return None


def _named(data: bytes, start: int, stop: int) -> tuple[str, str]:
    module, name = data[start : stop - 1].decode("utf-8", "replace").split("\n")
    return module, name


def globals_of(data: bytes) -> set[str]:
    """The full names of the globals that a pickle asks for. Those made up while it runs cannot be known."""
    found = set()
    strings = _Strings()
    for op, _, start, stop in scan(data):
        named = _named(data, start, stop) if op in b"ci" else strings.step(op, data[start:stop])
        if named is not None:
            found.add(".".join(python3_name(*named)))
    return found


_INTS = {0x4B, 0x4D, 0x4A, 0x8A}
_REWRITTEN = {0x51, 0x63, 0x95}  # BINPERSID, GLOBAL, FRAME


def emit(value: Any) -> bytes:
    """The opcodes (of protocol 2) that push a number, a string, or a tuple of those."""
    if isinstance(value, tuple):
        return b"(" + b"".join(map(emit, value)) + b"t"
    if isinstance(value, str):
        text = value.encode()
        return b"X" + struct.pack("<I", len(text)) + text
    if 0 <= value < 1 << 8:
        return b"K" + bytes((value,))
    if 0 <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    number = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes((len(number),)) + number


def rewrite(data: bytes, rename: Callable[[str, str], tuple[str, str]], values: list[Any]) -> bytes:
    """A pickle with its globals renamed and its places filled.

    A place is a persistent id that is a number: it becomes ``values[number]``. Frames go: their lengths would be wrong.
    """
    parts: list[bytes] = []
    copied = 0
    strings = _Strings()
    stack_globals = len(data) > 1 and data[0] == 0x80 and data[1] >= 4
    last_op, last_at = -1, 0
    for op, at, start, stop in scan(data):
        if not stack_globals and op not in _REWRITTEN:
            last_op, last_at = op, at
            continue
        new: bytes | None = None
        begin = at
        if op == 0x51 and last_op in _INTS:  # BINPERSID
            number = int.from_bytes(data[last_at + 1 + (last_op == 0x8A) : at], "little")
            new, begin = emit(values[number]), last_at
        elif op == 0x63:  # GLOBAL
            named = _named(data, start, stop)
            other = rename(*named)
            if other != named:
                new = b"c%s\n%s\n" % (other[0].encode(), other[1].encode())
        elif op == 0x95:  # FRAME
            new = b""
        if stack_globals:
            named_on_stack = strings.step(op, data[start:stop])
            if named_on_stack is not None and (other := rename(*named_on_stack)) != named_on_stack:
                # The two strings stay for the memo, but leave the stack.
                new = b"00c%s\n%s\n" % (other[0].encode(), other[1].encode())
        if new is not None:
            parts += (data[copied:begin], new)
            copied = stop
        last_op, last_at = op, at
    parts.append(data[copied:])
    return b"".join(parts)
