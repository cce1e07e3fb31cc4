"""Blocks of shared memory that a worker process fills with batches, lends to the loader and uses again.

A block is mapped once on either side, so that, other than memory which is made for each batch, it costs neither page
faults nor descriptors. One byte of memory that both sides see says whether the loader still has tensors in it.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from .... import _core

FREE, LENT, RETIRED = 0, 1, 2
MAX_BLOCKS = 8192
# Smaller values travel through the socket: there a copy costs less than a block's bookkeeping.
INLINE_LIMIT = 16384
_SMALLEST = 65536
_SCANNED = 32  # blocks looked at before a new one is made
_PATIENCE = 64  # times that a free block may be of the wrong size before it is given up


def _rounded(nbytes: int) -> int:
    """A size that serves similar requests too: four steps per power of two, sixteen where the waste would matter."""
    if nbytes <= _SMALLEST:
        return _SMALLEST
    step = 1 << (nbytes.bit_length() - (3 if nbytes < 1 << 22 else 5))
    return -(-nbytes // step) * step


class Block:
    """One block, on the worker's side."""

    __slots__ = ("address", "id", "memory", "misses", "size")

    def __init__(self, id: int, size: int) -> None:
        self.id = id
        self.size = size
        self.memory = _core.shared_create(size, False)
        self.address = self.memory.data_ptr()
        self.misses = 0


class BlockPool:
    """The blocks of a worker process.

    Args:
        states: shared memory with one byte per block.
    """

    def __init__(self, states: Any) -> None:
        self._states = memoryview(states)
        self._blocks: deque[Block] = deque()
        self._by_address: dict[int, Block] = {}
        self._free_ids = list(range(len(self._states) - 1, -1, -1))
        self._owner = threading.get_ident()
        self._on_new: Callable[[Block], None]
        self._on_drop: Callable[[Block], None]

    def announce_to(self, on_new: Callable[[Block], None], on_drop: Callable[[Block], None]) -> None:
        """Set what is called for blocks that are made and given up."""
        self._on_new = on_new
        self._on_drop = on_drop

    def take(self, nbytes: int) -> Block | None:
        """Return a block that nobody uses; None if there are too many already."""
        blocks = self._blocks
        for _ in range(min(len(blocks), _SCANNED)):
            block = blocks.popleft()
            state = self._states[block.id]
            # A tensor of this process may still lie in a block that the loader has given back.
            if state == LENT or _core.shared_users(block.memory) > 1:
                blocks.append(block)
            elif state == RETIRED:
                self._drop(block)
            elif nbytes <= block.size <= 4 * max(nbytes, _SMALLEST):
                block.misses = 0
                blocks.append(block)
                return block
            else:
                block.misses += 1
                if block.misses > _PATIENCE:
                    self._drop(block)
                else:
                    blocks.append(block)
        return self._make(nbytes)

    def _make(self, nbytes: int) -> Block | None:
        if not self._free_ids:
            return None
        block = Block(self._free_ids[-1], _rounded(nbytes))
        try:
            self._on_new(block)
        except OSError as error:
            if error.errno not in (errno.ETOOMANYREFS, errno.EMFILE):
                raise
            return None  # too many descriptors on their way to a loader that is busy with something else
        self._free_ids.pop()
        self._blocks.append(block)
        self._by_address[block.address] = block
        self._states[block.id] = FREE
        # The loader has mapped it, or will, by its own descriptor.
        _core.shared_close_fd(block.memory)
        return block

    def _drop(self, block: Block) -> None:
        del self._by_address[block.address]
        self._free_ids.append(block.id)
        self._on_drop(block)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised tensor that can be sent without a copy; None if it is small or there is no room."""
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        # Threads that a dataset has started may collate as well; they have no part in the talk with the loader.
        if nbytes < INLINE_LIMIT or threading.get_ident() != self._owner:
            return None
        block = self.take(nbytes)
        if block is None:
            return None
        return _core.tensor_over(_core.shared_piece(block.memory, nbytes), dtype, shape, None, 0)

    def find(self, address: int) -> Block | None:
        """Return the block that starts at an address."""
        return self._by_address.get(address)

    def is_free(self, block: Block) -> bool:
        """Whether the loader has no tensors in a block: what has been sent before must be copied to be sent again."""
        return self._states[block.id] == FREE

    def lend(self, block: Block) -> None:
        """Mark a block that is about to be sent."""
        self._states[block.id] = LENT


_pool: BlockPool | None = None


def enable(states: Any) -> BlockPool:
    """Make this process's pool: called once, by a worker process."""
    global _pool
    _pool = BlockPool(states)
    return _pool


def _disable() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disable)  # processes that a worker forks


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialised tensor in this worker's shared memory; None in other processes, and for small ones."""
    return None if _pool is None else _pool.empty(shape, dtype)


class BlockTable:
    """The blocks of a worker, on the loader's side.

    Args:
        states: the byte per block.
    """

    def __init__(self, states: Any) -> None:
        self._states = states
        self._blocks: dict[int, Any] = {}

    def add(self, id: int, fd: int, size: int) -> None:
        """Map a block."""
        self._blocks[id] = _core.shared_attach(fd, size, False)

    def remove(self, id: int) -> None:
        """Forget a block; tensors that lie in it keep it alive."""
        del self._blocks[id]

    def borrow(self, pieces: list[tuple[int, int, int]]) -> list[Any]:
        """Return a uint8 tensor for each (block, offset, size); blocks go back when their last tensor dies."""
        if len(pieces) == 1:
            id, offset, size = pieces[0]
            return _core.shared_borrow(self._blocks[id], self._states, id, [(offset, size)])  # type: ignore[no-any-return]
        by_block: dict[int, list[tuple[int, int]]] = {}
        for id, offset, size in pieces:
            by_block.setdefault(id, []).append((offset, size))
        borrowed = {
            id: iter(_core.shared_borrow(self._blocks[id], self._states, id, parts)) for id, parts in by_block.items()
        }
        return [next(borrowed[id]) for id, _, _ in pieces]

    def give_back(self, ids: set[int]) -> None:
        """Free the blocks of a message that nobody wants."""
        for id in ids:
            _core.shared_set_state(self._states, id, FREE)
