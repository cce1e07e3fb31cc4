"""Messages between a loader and its worker processes, over one socket per worker.

The loader sends tasks: a length and a pickled ``(task, index)``. The worker sends events: a header, the pieces of
shared memory that the batch lies in, and the pickled batch, in which those pieces are pickle's out-of-band buffers.
Large tensors and NumPy arrays thus arrive without being copied by the loader.

No thread and no lock is involved, so that a process which is killed cannot leave one behind; its end closes the socket,
which the other side sees at once.
"""

from __future__ import annotations

import array
import copyreg
import io
import os
import pickle
import socket
import struct
from collections import ChainMap, deque
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .... import _core
from ...._core import Tensor
from ....nn.parameter import Parameter
from . import blocks

DATA, END, RESUMED, NEW_BLOCK, DROP_BLOCK = range(5)

_EVENT = struct.Struct("<IHHq")  # length of the rest, kind, pieces, task
_PIECE = struct.Struct("<IQQ")  # block, offset, size
_TASK = struct.Struct("<I")
_CHUNK = 1 << 17
_MAX_FDS = 250
_ANCILLARY = socket.CMSG_SPACE(_MAX_FDS * array.array("i").itemsize) if hasattr(socket, "CMSG_SPACE") else 0
_ALIGN = 64
# By numbers, because a dtype's text depends on whether this process answers to the name of torch.
_DTYPES = dict(
    enumerate(
        (
            _core.bool, _core.uint8, _core.int8, _core.int16, _core.int32, _core.int64, _core.float16, _core.bfloat16,
            _core.float32, _core.float64, _core.complex64, _core.complex128,
        )
    )
)  # fmt: skip
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


# ---- pickling ----


def _finish(tensor: Tensor, cls: type, requires_grad: bool, attributes: dict[str, Any] | None) -> Any:
    """The tensor as the class that was sent."""
    out: Any = tensor
    if cls is Parameter:
        out = Parameter(tensor, requires_grad=requires_grad)
    else:
        if cls is not Tensor:
            out = Tensor._make_subclass(cls, tensor)
        if requires_grad:
            out.requires_grad_()
    if attributes:
        out.__dict__.update(attributes)
    return out


def _load_small(data: bytes, dtype: int, shape: tuple[int, ...], stride: tuple[int, ...] | None, *more: Any) -> Any:
    tensor = _core.tensor_from_bytes(data, _DTYPES[dtype], shape, stride)
    return _finish(tensor, *more) if more else tensor


def _load_piece(
    memory: Any, dtype: int, shape: tuple[int, ...], stride: tuple[int, ...] | None, offset: int, *more: Any
) -> Any:
    if not isinstance(memory, Tensor):  # a buffer that travelled within the message
        memory = _core.tensor_from_bytes(memory, _core.uint8, (len(memory),), None)
    tensor = _core.tensor_over(memory, _DTYPES[dtype], shape, stride, offset)
    return _finish(tensor, *more) if more else tensor


def _reach(tensor: Tensor) -> int:
    """Elements from the first to the last."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))


_REDUCERS = ChainMap(ForkingPickler._extra_reducers, copyreg.dispatch_table)  # type: ignore[attr-defined]


class _BatchPickler(ForkingPickler):
    """Pickles a batch; tensors become bytes or, if large, out-of-band buffers."""

    def __init__(self, stream: io.BytesIO, buffer_callback: Callable[[pickle.PickleBuffer], bool] | None) -> None:
        # ForkingPickler's own constructor passes no keywords on.
        pickle.Pickler.__init__(self, stream, 5, buffer_callback=buffer_callback)
        self.dispatch_table = _REDUCERS

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        own = type(obj).__reduce_ex__
        if own is not Tensor.__reduce_ex__ and own is not Parameter.__reduce_ex__:
            return NotImplemented  # a subclass that knows better
        return _reduce_batch_tensor(obj)


def _reduce_batch_tensor(obj: Tensor) -> Any:
    more: tuple[Any, ...] = ()
    if type(obj) is not Tensor or obj.requires_grad:
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries. Call detach() in the dataset or in collate_fn."
            )
        more = (type(obj), obj.requires_grad, dict(obj.__dict__) or None)
    if obj.is_meta:
        from ....multiprocessing.reductions import reduce_tensor

        return reduce_tensor(obj)
    tensor = obj.detach()
    code = _CODES[tensor.dtype]
    shape, item = tuple(tensor.shape), tensor.element_size()
    contiguous = tensor.is_contiguous()
    # Not the whole storage: a batch may be a small part of a large dataset. What lies between the elements is sent if
    # it is not much, because then the strides stay as they are.
    reach = tensor.numel() if contiguous else _reach(tensor)
    if not contiguous and reach > 2 * tensor.numel():
        tensor, contiguous, reach = tensor.contiguous(), True, tensor.numel()
    stride = None if contiguous else tuple(tensor.stride())
    nbytes = reach * item
    flat = _core.tensor_over(tensor, tensor.dtype, (reach,), None, tensor.storage_offset())
    if nbytes < blocks.INLINE_LIMIT:
        data = bytes(memoryview(flat.view(_core.uint8))) if nbytes else b""
        return _load_small, (data, code, shape, stride, *more)
    return _load_piece, (pickle.PickleBuffer(flat.view(_core.uint8)), code, shape, stride, 0, *more)


class _Payload:
    """A pickled batch and the pieces of shared memory that belong to it."""

    def __init__(self, data: Any, pool: blocks.BlockPool) -> None:
        self.pieces: list[tuple[int, int, int]] = []
        self._pool = pool
        self._copies: list[tuple[int, Any]] = []
        self._copied = 0
        self.lent: list[blocks.Block] = []
        stream = io.BytesIO()
        _BatchPickler(stream, self._out_of_band).dump(data)
        self.text: Any = stream.getbuffer()
        if self._copies and not self._copy():
            # No block is to be had: everything travels within the message.
            stream = io.BytesIO()
            _BatchPickler(stream, None).dump(data)
            self.text, self.pieces, self.lent = stream.getbuffer(), [], []

    def _out_of_band(self, buffer: pickle.PickleBuffer) -> bool:
        """Note a buffer; True lets it travel within the message."""
        raw = buffer.raw()
        if raw.nbytes < blocks.INLINE_LIMIT or len(self.pieces) >= 0xFFFF:
            return True
        block = self._pool.find(_core.from_buffer(raw).data_ptr())
        if block is not None and (block in self.lent or self._pool.is_free(block)):
            self.lent.append(block)
            self.pieces.append((block.id, 0, raw.nbytes))
        else:
            self._copies.append((len(self.pieces), raw))
            self.pieces.append((-1, self._copied, raw.nbytes))
            self._copied += -(-raw.nbytes // _ALIGN) * _ALIGN
        return False

    def _copy(self) -> bool:
        """Put what does not lie in a block yet into one."""
        block = self._pool.take(self._copied)
        if block is None:
            return False
        target = memoryview(block.memory)
        for place, raw in self._copies:
            _, offset, size = self.pieces[place]
            target[offset : offset + size] = raw
            self.pieces[place] = (block.id, offset, size)
        self.lent.append(block)
        return True


# ---- the worker's side ----


class WorkerChannel:
    """A worker's end of the socket.

    Args:
        sock: the socket, blocking.
        pool: where large values are put.
    """

    def __init__(self, sock: socket.socket, pool: blocks.BlockPool) -> None:
        self._sock = sock
        self._pool = pool
        self._waiting = bytearray()
        pool.announce_to(self._announce, self._withdraw)

    def receive(self) -> tuple[int, Any] | None:
        """Wait for a task; None when the loader has closed its end."""
        data = self._waiting
        wanted = None
        while True:
            if wanted is None and len(data) >= _TASK.size:
                wanted = _TASK.size + _TASK.unpack_from(data)[0]
            if wanted is not None and len(data) >= wanted:
                with memoryview(data) as view:
                    message: tuple[int, Any] = pickle.loads(view[_TASK.size : wanted])
                del data[:wanted]
                return message
            try:
                more = self._sock.recv(_CHUNK)
            except ConnectionResetError:
                return None
            if not more:
                return None
            data += more

    def send(self, kind: int, task: int, data: Any) -> None:
        """Send an event; what it refers to in shared memory is lent to the loader."""
        payload = _Payload(data, self._pool)
        length = len(payload.text) + _PIECE.size * len(payload.pieces)
        if length > 0xFFFFFFFF:
            raise ValueError(f"DataLoader: a batch must not exceed 4 GiB outside of tensors and arrays, got {length}")
        head = bytearray(_EVENT.pack(length, kind, len(payload.pieces), task))
        for piece in payload.pieces:
            head += _PIECE.pack(*piece)
        for block in payload.lent:
            self._pool.lend(block)
        if length < 1 << 16:
            self._sock.sendall(head + payload.text)
        else:
            self._sock.sendall(head)
            self._sock.sendall(payload.text)

    def _announce(self, block: blocks.Block) -> None:
        fd = _core.shared_handle(block.memory)[0]
        message = _EVENT.pack(_PIECE.size, NEW_BLOCK, 1, 0) + _PIECE.pack(block.id, 0, block.size)
        sent = socket.send_fds(self._sock, [message], [fd])
        self._sock.sendall(message[sent:])

    def _withdraw(self, block: blocks.Block) -> None:
        self._sock.sendall(_EVENT.pack(_PIECE.size, DROP_BLOCK, 1, 0) + _PIECE.pack(block.id, 0, 0))


# ---- the loader's side ----


class LoaderChannel:
    """The loader's end of the socket to one worker; it never blocks.

    Args:
        sock: the socket.
        table: the worker's blocks.
    """

    def __init__(self, sock: socket.socket, table: blocks.BlockTable) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.closed = False
        self._table = table
        self._chunk = bytearray(_CHUNK)
        self._data = bytearray()
        self._start = 0
        self._fds: deque[int] = deque()
        self._unsent = bytearray()

    def send(self, task: int, index: Any) -> None:
        """Send a task, now or as soon as there is room for it."""
        stream = io.BytesIO()
        stream.write(b"\0\0\0\0")
        ForkingPickler(stream, 5).dump((task, index))
        message = stream.getbuffer()
        _TASK.pack_into(message, 0, len(message) - _TASK.size)
        if self._unsent:
            self._unsent += message
            self.flush()
            return
        try:
            sent = self.sock.send(message)
        except BlockingIOError:
            sent = 0
        except OSError:  # the worker is gone, which shows when its answer is missing
            return
        self._unsent += message[sent:]

    @property
    def is_behind(self) -> bool:
        """Whether tasks wait for room."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Send what had no room before."""
        try:
            while self._unsent:
                del self._unsent[: self.sock.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()

    def read(self) -> bool:
        """Take what has arrived; whether there was anything. Sets ``closed`` at the end."""
        try:
            size, ancillary, _, _ = self.sock.recvmsg_into([self._chunk], _ANCILLARY)
        except BlockingIOError:
            return False
        except OSError:
            size, ancillary = 0, []
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                self._fds.extend(fds)
        if size == 0:
            self.closed = True
            return False
        if self._start:
            del self._data[: self._start]
            self._start = 0
        self._data += memoryview(self._chunk)[:size]
        return True

    def next_event(self, wanted: bool = True) -> tuple[int, int, Any] | None:
        """Return (kind, task, batch) of the next event that has arrived in full; None if there is none.

        Args:
            wanted: otherwise the batch is dropped.
        """
        while True:
            start = self._start
            if len(self._data) - start < _EVENT.size:
                return None
            length, kind, count, task = _EVENT.unpack_from(self._data, start)
            start += _EVENT.size
            if len(self._data) - start < length:
                return None
            self._start = start + length
            pieces = [_PIECE.unpack_from(self._data, start + i * _PIECE.size) for i in range(count)]
            if kind == NEW_BLOCK:
                self._add_block(pieces[0][0], pieces[0][2])
            elif kind == DROP_BLOCK:
                self._table.remove(pieces[0][0])
            elif kind != DATA:
                return kind, task, None
            elif not wanted:
                self._table.give_back({id for id, _, _ in pieces})
                return kind, task, None
            else:
                buffers = self._table.borrow(pieces) if pieces else ()
                with memoryview(self._data) as view:
                    text = view[start + count * _PIECE.size : self._start]
                    try:
                        return kind, task, pickle.loads(text, buffers=buffers)
                    finally:
                        text.release()

    def _add_block(self, id: int, size: int) -> None:
        if not self._fds:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
                "using `ulimit -n` in the shell or keep fewer batches alive"
            )
        fd = self._fds.popleft()
        try:
            self._table.add(id, fd, size)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close this end: the worker ends."""
        self.closed = True
        self.sock.close()
        while self._fds:
            os.close(self._fds.popleft())
