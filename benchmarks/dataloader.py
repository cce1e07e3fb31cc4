"""Loading data against PyTorch: whole passes over 4096 samples in batches of 128, alone and with two workers."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.data
from _harness import Case, Step, main

import mashal
import mashal.utils.data

SAMPLES, BATCH = 4096, 128


def images(m: Any) -> Any:
    """3x32x32 pictures with a light transform, one sample at a time."""
    m.manual_seed(1)
    data = m.randint(0, 256, (SAMPLES, 3, 32, 32), dtype=m.uint8)

    class Images(m.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            picture = data[index].float() / 255
            return (picture - 0.5) / 0.25, index % 10

        def __len__(self) -> int:
            return SAMPLES

    return Images()


def tensors(m: Any, *shape: int) -> Any:
    m.manual_seed(1)
    return m.utils.data.TensorDataset(m.rand(SAMPLES, *shape), m.arange(SAMPLES))


def passes(m: Any, dataset: Any, **options: Any) -> Step:
    """A pass; what it yields is checked once, against a loop over the dataset."""
    loader = m.utils.data.DataLoader(dataset, batch_size=BATCH, **options)
    m.manual_seed(0)
    seen = sum(float(x.double().sum()) for x, _ in loader)
    expected = sum(float(dataset[i][0].double().sum()) for i in range(SAMPLES))
    assert abs(seen - expected) < 1e-6 * abs(expected) + 1e-3, (seen, expected)

    def step() -> None:
        for _ in loader:
            pass

    return step


def cases() -> list[Case]:
    workers: dict[str, dict[str, Any]] = {
        "0 workers": {},
        "2 workers": {"num_workers": 2},
        "2 workers, persistent": {"num_workers": 2, "persistent_workers": True},
    }
    kinds = {
        "images": images,
        "TensorDataset 3x32x32": lambda m: tensors(m, 3, 32, 32),
        "TensorDataset 20": lambda m: tensors(m, 20),
    }
    made = []
    for kind, make in kinds.items():
        for name, options in workers.items():
            more = {**options, "shuffle": True}
            ours, theirs = (passes(m, make(m), **more) for m in (mashal, torch))
            made.append(Case(f"{kind}, {name}", ours, theirs, 0.77))
    return made


if __name__ == "__main__":
    main(cases, __doc__ or "")
