"""Short runs of the other programs: they end well, leave what they promise, and learn something where time allows."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

for needed in ("sklearn", "matplotlib", "tqdm", "PIL"):
    pytest.importorskip(needed)


def run(name, *arguments, out):
    """Run an example; return what it wrote."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder of IDX files with 600 pictures of 28 x 28 pixels in the place of Fashion-MNIST."""
    folder = tmp_path_factory.mktemp("idx")
    random = np.random.default_rng(0)
    for part in ("train", "t10k"):
        labels = random.integers(0, 10, 600)
        pictures = random.integers(0, 60, (600, 28, 28))
        for picture, label in zip(pictures, labels, strict=True):
            picture[2 * label : 2 * label + 8, 4:24] += 150
        for name, array in ((f"{part}-images-idx3-ubyte", pictures), (f"{part}-labels-idx1-ubyte", labels)):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            (folder / name).write_bytes(header + array.astype(np.uint8).tobytes())
    return folder


def test_char_gpt(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog. " * 200)
    said = run("char_gpt", "--text", text, "--steps", 30, "--write", 20, "--context", 32, out=tmp_path)
    losses = [float(loss) for loss in re.findall(r"held out ([\d.]+)", said)]
    assert losses[-1] < 2.5  # ln 28 = 3.3 before
    assert (tmp_path / "sample.txt").read_text().startswith("The ")
    assert (tmp_path / "loss.png").stat().st_size > 0


def test_word_lstm(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog . " * 400)
    said = run("word_lstm", "--text", text, "--epochs", 3, out=tmp_path)
    assert float(re.findall(r"held out ([\d.]+)", said)[-1]) < 6  # 10 words
    assert (tmp_path / "perplexity.png").exists()


def test_vae(tmp_path, images):
    said = run("vae", "--data", images, "--epochs", 2, out=tmp_path)
    first, last = (float(value) for value in re.findall(r"held out ([\d.]+)", said))
    assert last < first
    assert {"samples.png", "walk.png", "model.pt"} <= {path.name for path in tmp_path.iterdir()}


def test_dcgan(tmp_path, images):
    run("dcgan", "--data", images, "--epochs", 1, "--limit", 192, out=tmp_path)
    assert {"samples-1.png", "losses.png", "model.pt"} <= {path.name for path in tmp_path.iterdir()}


def test_segment(tmp_path, images):
    said = run("segment", "--data", images, "--steps", 4, "--batch-size", 4, out=tmp_path)
    assert "intersection over union" in said
    assert {"scenes.png", "loss.png", "model.pt"} <= {path.name for path in tmp_path.iterdir()}


def test_cartpole(tmp_path):
    said = run("cartpole", "--episodes", 25, out=tmp_path)
    assert "steps in the mean" in said
    assert {"steps.png", "policy.pt"} <= {path.name for path in tmp_path.iterdir()}


def test_translate(tmp_path):
    said = run("translate", "--epochs", 6, "we see the green car", out=tmp_path)
    right, held = map(int, re.search(r"(\d+) of (\d+) sentences", said).groups())
    assert right > held / 2
    assert "we see the green car -> nous voyons la voiture verte" in said
    assert (tmp_path / "attention.png").exists()


def test_translate_says_which_word_is_unknown(tmp_path):
    command = [sys.executable, str(EXAMPLES / "translate.py"), "we see the spaceship", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)
    assert done.returncode == 2
    assert "spaceship" in done.stderr


def test_sentiment(tmp_path):
    said = run("sentiment", "a lovely song", out=tmp_path)
    right, held = map(int, re.search(r"(\d+) of (\d+) sentences", said).groups())
    assert right >= 0.9 * held
    assert (tmp_path / "words.png").exists()


def test_finetune_digits(tmp_path):
    if importlib.util.find_spec("digit_recognizer") is None:
        pytest.skip("needs digit-recognizer-py")
    said = run("finetune_digits", "--epochs", 2, out=tmp_path)
    published, *tuned = (float(value) for value in re.findall(r"([\d.]+)%(?: of|$|\n)", said))
    assert published == pytest.approx(89.7, abs=0.05)
    assert tuned[-1] > 97


@pytest.mark.parametrize("name", ["vae", "dcgan", "segment"])
def test_missing_data_is_said(name, tmp_path):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--data", str(tmp_path / "no"), "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=600)
    assert done.returncode == 2
    assert str(tmp_path / "no") in done.stderr
    assert "Traceback" not in done.stderr
