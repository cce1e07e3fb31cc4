"""A citation graph in the files of Cora, synthetic, as the archive that the graph programs download."""

import contextlib
import io
import tarfile

import numpy as np
import requests


def offer(nodes: int) -> None:
    """Makes ``requests.get`` give the archive: papers of three classes that cite mostly their own, 30 words each."""
    random = np.random.default_rng(0)
    classes = random.integers(0, 3, nodes)
    likely = random.random((3, 30)) ** 3
    words = (random.random((nodes, 30)) < likely[classes]).astype(int)
    content = "\n".join(f"{i + 1000}\t{' '.join(map(str, words[i]))}\tclass_{classes[i]}" for i in range(nodes))
    pairs = random.integers(0, nodes, (8 * nodes, 2))
    pairs = np.unique(pairs[classes[pairs[:, 0]] == classes[pairs[:, 1]]], axis=0)
    cites = "\n".join(f"{a + 1000}\t{b + 1000}" for a, b in pairs if a != b)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in (("cora/cora.content", content), ("cora/cora.cites", cites)):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))

    class Answer:
        raw = archive

    archive.seek(0)
    requests.get = lambda url, stream: contextlib.nullcontext(Answer)
