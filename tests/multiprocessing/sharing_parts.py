"""What the processes of these tests run; imported by spawned ones."""

import os
import time


def double(queue_in, queue_out):
    while (item := queue_in.get()) is not None:
        item.mul_(2)
        queue_out.put(item)
        del item


def fill(tensor, value):
    tensor.fill_(value)


def fill_all(index, tensors, value):
    tensors[index].fill_(value + index)


def fail(index, how):
    if index == 1:
        if how == "raise":
            raise ValueError("broken on purpose")
        if how == "exit":
            os._exit(7)
        os.kill(os.getpid(), 9)
    time.sleep(20)


KEPT = []


def keep(queue, back):
    """Ends with tensors in a global, and after sending one on."""
    import mashal

    KEPT.append(queue.get())
    KEPT.append(mashal.ones(5).share_memory_())
    back.put(KEPT[0])
    back.put(KEPT[1])
    assert queue.get() == "got them"


def total(tensor):
    return tensor.sum()


def ones(n):
    import mashal

    return mashal.ones(n)


def add_one(model, steps):
    for _ in range(steps):
        for p in model.parameters():
            p.data.add_(1)


def talk(connection):
    kind, tensor = connection.recv()
    tensor += 1
    connection.send((kind, tensor.is_shared(), tensor))
    connection.recv()  # a descriptor is given out by its sender
