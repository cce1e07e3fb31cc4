"""Datasets for the tests of workers, in a module that a spawned process can import without PyTorch."""

import os
import random
import time

import mashal
import mashal.utils.data as data


class Numbers(data.Dataset):
    """Index and a row that tells where it was made."""

    def __init__(self, count=20, size=4):
        self.rows = mashal.arange(count, dtype=mashal.float32).reshape(-1, 1).expand(count, size).contiguous()

    def __getitem__(self, index):
        return index, self.rows[index], mashal.rand(1), random.random(), os.getpid()

    def __len__(self):
        return len(self.rows)


class Slow(data.Dataset):
    def __getitem__(self, index):
        time.sleep(60 if index else 0)
        return index

    def __len__(self):
        return 4


def name_seed(worker_id):
    info = data.get_worker_info()
    assert info.id == worker_id and info.seed == mashal.initial_seed()


def double(queue_in, queue_out):
    while (item := queue_in.get()) is not None:
        item.mul_(2)
        queue_out.put(item)
        del item


def fill(tensor, value):
    tensor.fill_(value)


def fail(index, how):
    if index == 1:
        if how == "raise":
            raise ValueError("broken on purpose")
        if how == "exit":
            os._exit(7)
        os.kill(os.getpid(), 9)
    time.sleep(0.2 if how == "raise" else 20)


def total(tensor):
    return tensor.sum()


def train(model, steps):
    for _ in range(steps):
        for p in model.parameters():
            p.data.add_(1)
