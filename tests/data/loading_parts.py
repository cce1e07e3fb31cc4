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
    assert info.id == worker_id
    assert info.seed == mashal.initial_seed()
