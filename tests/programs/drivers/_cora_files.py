"""A citation graph in the files of Cora, synthetic, for programs whose repositories lack the papers' words."""

from pathlib import Path

import numpy as np


def write(folder: str, nodes: int = 1500, words: int = 24, classes: int = 7) -> None:
    """Papers that cite mostly those of their own class, in ``cora.content`` and ``cora.cites``."""
    random = np.random.default_rng(0)
    kinds = random.integers(0, classes, nodes)
    likely = random.random((classes, words)) ** 3
    content = np.column_stack([np.arange(nodes), random.random((nodes, words)) < likely[kinds], kinds])
    pairs = random.integers(0, nodes, (8 * nodes, 2))
    pairs = np.unique(pairs[kinds[pairs[:, 0]] == kinds[pairs[:, 1]]], axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    Path(folder).mkdir(parents=True)
    lines = (" ".join([*map(str, row[:-1]), f"class{row[-1]}"]) for row in content)
    Path(folder, "cora.content").write_text("\n".join(lines))
    Path(folder, "cora.cites").write_text("\n".join(f"{a} {b}" for a, b in pairs))
