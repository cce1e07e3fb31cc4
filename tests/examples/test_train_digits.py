"""The digits program: a short run of it, and what it says about bad files."""

import gzip
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "examples" / "train_digits.py"

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("safetensors")
pytest.importorskip("tqdm")


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("train_digits", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path):
    """Return a folder with tiny files: raw images, compressed labels."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 40), ("t10k", 10)):
        images, labels = rng.integers(0, 256, (count, 8, 8)), rng.integers(0, 10, count)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return tmp_path


def test_run(tmp_path):
    result = run("--epochs", 2, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "reloaded from" in result.stdout
    for name in ("weights.safetensors", "curves.png", "mistakes.png"):
        assert (tmp_path / name).stat().st_size > 1000
    accuracy = float(result.stdout.split("test accuracy ")[-1].split("%")[0])
    assert accuracy > 80  # after two epochs of fifteen


def test_idx_files(program, folder):
    train_x, train_y, test_x, test_y = program.load_idx(folder)
    assert train_x.shape == (40, 8, 8)
    assert train_x.dtype == np.float32
    assert 0 <= train_x.min() <= train_x.max() <= 1
    assert (train_y.dtype, train_y.shape, test_x.shape, test_y.shape) == (np.int64, (40,), (10, 8, 8), (10,))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(np.round(train_x * 255), rng.integers(0, 256, (40, 8, 8)))


IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
DAMAGE = {
    "missing": (lambda f: (f / IMAGES).unlink(), rf"{IMAGES}: expected this file, or {IMAGES}.gz beside it"),
    "no folder": (lambda f: f.rename(f.with_suffix(".moved")), "expected a folder with IDX files"),
    "empty": (lambda f: (f / IMAGES).write_bytes(b""), rf"{IMAGES}: expected .* starts with 00000803, found nothing"),
    "magic": (
        lambda f: (f / IMAGES).write_bytes(idx(np.zeros(40))),
        rf"{IMAGES}: expected an IDX file that starts with 00000803, found 00000801",
    ),
    "header": (
        lambda f: (f / IMAGES).write_bytes(bytes([0, 0, 8, 3, 0, 0])),
        rf"{IMAGES}: expected a header of 16 bytes, found only 6",
    ),
    "truncated": (
        lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes()[:-10]),
        rf"{IMAGES}: expected 40 x 8 x 8 = 2560 bytes after the header, found 2550",
    ),
    "too long": (
        lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes() + b"x"),
        rf"{IMAGES}: expected 40 x 8 x 8 = 2560 bytes after the header, found 2561",
    ),
    "truncated gzip": (
        lambda f: (f / f"{LABELS}.gz").write_bytes((f / f"{LABELS}.gz").read_bytes()[:-12]),
        rf"{LABELS}.gz: expected a complete gzip file",
    ),
    "not gzip": (
        lambda f: (f / f"{LABELS}.gz").write_bytes(b"<html>404</html>"),
        rf"{LABELS}.gz: expected a complete gzip file",
    ),
    "other count": (
        lambda f: (f / f"{LABELS}.gz").write_bytes(gzip.compress(idx(np.zeros(39)))),
        rf"{LABELS}: expected a label for each image in {IMAGES}, found 39 labels and 40 images",
    ),
    "label": (
        lambda f: (f / f"{LABELS}.gz").write_bytes(gzip.compress(idx(np.full(40, 200)))),
        rf"{LABELS}: expected labels from 0 to 9, found 200",
    ),
    "image sizes": (
        lambda f: (f / IMAGES).write_bytes(idx(np.zeros((40, 9, 8)))),
        r"expected training and test images of one size, at least 4 x 4, found 9 x 8 and 8 x 8",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_bad_files(program, folder, damage):
    spoil, message = DAMAGE[damage]
    spoil(folder)
    with pytest.raises(program.DataError, match=message):
        program.load_idx(folder)


def test_bad_file_ends_the_program_with_2(folder, tmp_path):
    (folder / IMAGES).unlink()
    result = run("--data", folder, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {folder / IMAGES}: expected this file")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [("--epochs", "0"), ("--batch-size", "x"), ("--lr", "-1"), ("--lr", "inf")])
def test_bad_arguments(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
