"""SummaryWriter: read back by tensorboard's own reader, and record by record as PyTorch writes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import mashal

pytest.importorskip("tensorboard")
pytestmark = pytest.mark.filterwarnings("ignore")  # protobuf and tensorboard have their own

G = np.random.RandomState(0)
NORMAL = G.randn(1000).astype("float32")
PICTURE = G.rand(3, 8, 8).astype("float32")
PICTURES = G.rand(5, 1, 8, 8).astype("float32")
BYTES = G.randint(0, 255, (8, 6, 3)).astype("uint8")
SOUND = G.uniform(-1, 1, (1, 100)).astype("float32")
LABELS, PROBABILITIES = G.randint(0, 2, 100), G.rand(100).astype("float32")
EDGES = [-3.0, -1.0, 0.0, 0.5, 4.0]


def records(lib, summary):
    t = lib.from_numpy
    yield "scalar", summary.scalar("s", lib.tensor([2.5]))
    yield "scalar of numpy", summary.scalar("s", np.float32(3))
    yield "new scalar", summary.scalar("s", 3, new_style=True)
    yield "double scalar", summary.scalar("s", 0.1, new_style=True, double_precision=True)
    yield "histogram auto", summary.histogram("h", t(NORMAL), "auto")
    yield "histogram edges", summary.histogram("h", t(NORMAL), EDGES)
    yield "histogram ends", summary.histogram("h", lib.tensor([-2.0, 3.0]), [*EDGES, 9.0])
    yield "histogram joined", summary.histogram("h", t(NORMAL), np.linspace(-4, 4, 100).tolist(), max_bins=30)
    yield "raw histogram", summary.histogram_raw("h", 0, 1, 3, 2, 1, [0.5, 1.0], [1, 2])
    yield "image", summary.image("i", t(PICTURE), dataformats="CHW")
    yield "images", summary.image("i", t(PICTURES))
    yield "bytes", summary.image("i", t(BYTES), dataformats="HWC")
    yield "grey", summary.image("i", t(PICTURE[0]), dataformats="HW")
    yield "audio", summary.audio("a", t(SOUND), sample_rate=8000)
    yield "text", summary.text("t", "some *text* é")
    yield "pr", summary.pr_curve("p", LABELS, PROBABILITIES)
    yield "pr weighted", summary.pr_curve("p", LABELS, PROBABILITIES, num_thresholds=10, weights=PROBABILITIES)
    yield "custom", summary.custom_scalars({"c": {"x": ["Multiline", ["s"]], "m": ["Margin", ["a", "b", "c"]]}})
    yield "mesh", summary.mesh("m", t(np.ones((1, 3, 3))), t(BYTES[None, :3, :3, 0]), lib.tensor([[[0, 1, 2]]]), None)
    yield "points", summary.mesh("m", t(np.ones((1, 3, 3))), None, None, {"camera": {"cls": "x"}})
    for name in ("float32", "float64", "int8", "int16", "int32", "int64", "bool", "complex64"):
        yield name, summary.tensor_proto("t", lib.tensor([[0, 1, 3]]).to(getattr(lib, name)))
    yield "hparams", summary.hparams({"lr": 0.1, "n": "x", "t": lib.tensor([1.5])}, {"acc": 0.5}, {"n": ["x", "y"]})


def test_as_pytorch_writes():
    from torch.utils.tensorboard import summary as theirs

    from mashal.utils.tensorboard import summary as ours

    for (name, got), (_, want) in zip(records(mashal, ours), records(torch, theirs), strict=True):
        assert got == want, name


@pytest.fixture
def writer(tmp_path):
    from mashal.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path / "log") as w:
        yield w


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"tensors": 100, "histograms": 100})
    accumulator.Reload()
    return accumulator


def test_scalars_are_read_back(writer, tmp_path):
    for step in range(5):
        writer.add_scalar("loss/train", mashal.tensor(1.0 / (step + 1)), step, walltime=100.0 + step)
        writer.add_scalars("both", {"a": step, "b": mashal.tensor(2.0 * step)}, step)
    assert writer.get_logdir() == tmp_path / "log"
    writer.close()
    events = read(tmp_path / "log").Scalars("loss/train")
    assert [e.step for e in events] == [0, 1, 2, 3, 4]
    np.testing.assert_allclose([e.value for e in events], 1 / np.arange(1, 6), rtol=1e-7)
    assert events[2].wall_time == 102.0
    assert [e.value for e in read(tmp_path / "log" / "both_b").Scalars("both")] == [0, 2, 4, 6, 8]
    writer.add_scalar("late", 1)  # opens another file
    writer.flush()
    assert len(list((tmp_path / "log").glob("events*"))) == 2


def test_all_kinds_are_read_back(writer, tmp_path):
    import matplotlib.pyplot as plt

    writer.add_histogram("h", mashal.from_numpy(NORMAL), 1)
    writer.add_histogram("h bf16", mashal.ones(3, dtype=mashal.bfloat16), 1)
    writer.add_histogram_raw("hr", 0, 1, 3, 2, 1, [0.5, 1.0], [1, 2], 1)
    writer.add_image("i", mashal.from_numpy(PICTURE), 1)
    writer.add_images("is", mashal.from_numpy(PICTURES), 1)
    writer.add_image_with_boxes("box", mashal.from_numpy(PICTURE), mashal.tensor([[1, 1, 4, 5]]), 1, labels="a")
    figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
    axes.plot([1, 2])
    writer.add_figure("f", figure, 1, close=False)
    writer.add_figure("fs", [figure, figure], 1)
    writer.add_video("v", mashal.rand(3, 4, 3, 8, 6), 1, fps=10)
    writer.add_audio("a", mashal.from_numpy(SOUND), 1)
    writer.add_text("t", "hello", 1)
    writer.add_tensor("x", mashal.arange(4), 1)
    writer.add_pr_curve("p", mashal.from_numpy(LABELS), mashal.from_numpy(PROBABILITIES), 1)
    writer.add_pr_curve_raw("q", *[mashal.ones(5)] * 6, num_thresholds=5)
    writer.add_custom_scalars_multilinechart(["a", "b"])
    writer.add_custom_scalars_marginchart(["a", "b", "c"])
    writer.add_custom_scalars({"c": {"x": ["Multiline", ["s"]]}})
    writer.add_mesh("m", mashal.zeros(1, 3, 3))
    writer.close()
    got = read(tmp_path / "log")
    tags = got.Tags()
    assert tags["histograms"] == ["h", "h bf16", "hr"]
    assert got.Histograms("h")[0].histogram_value.num == 1000
    assert got.Histograms("h bf16")[0].histogram_value.sum == 3
    assert tags["images"] == ["i", "is", "box", "f", "fs", "v"]
    picture = {tag: got.Images(tag)[0] for tag in tags["images"]}
    assert (picture["is"].width, picture["is"].height) == (5 * 8, 8)
    assert (picture["f"].width, picture["f"].height) == (100, 50)
    assert (picture["fs"].width, picture["fs"].height) == (200, 50)
    assert (picture["v"].width, picture["v"].height) == (12, 16)
    assert picture["v"].encoded_image_string.startswith(b"GIF89a")
    assert tags["audio"] == ["a"]
    assert got.Audio("a")[0].length_frames == 100
    assert {"t/text_summary", "x", "p", "q", "custom_scalars__config__", "m_VERTEX"} == set(tags["tensors"])
    assert got.Tensors("x")[0].tensor_proto.int64_val == [0, 1, 2, 3]
    assert plt.get_fignums() == []


def test_hparams_and_embedding(writer, tmp_path):
    writer.add_hparams({"lr": 0.1, "flag": True}, {"accuracy": 0.5}, run_name="run", global_step=3)
    writer.add_embedding(
        mashal.eye(5)[:, :2], list("abcde"), mashal.from_numpy(PICTURES), global_step=3, tag="some/points"
    )
    writer.add_embedding(mashal.ones(2, 2), [["a", 1], ["b", 2]], metadata_header=["name", "number"])
    writer.close()
    assert read(tmp_path / "log" / "run").Scalars("accuracy")[0].step == 3
    plugin = read(tmp_path / "log" / "run").PluginTagToContent("hparams")
    assert b"flag" in plugin["_hparams_/session_start_info"]
    log = tmp_path / "log"
    assert (log / "00003" / "some%2fpoints" / "metadata.tsv").read_text() == "a\nb\nc\nd\ne\n"
    assert (log / "00003" / "some%2fpoints" / "tensors.tsv").read_text().startswith("1.0\t0.0\n0.0\t1.0\n")
    assert (log / "00003" / "some%2fpoints" / "sprite.png").exists()
    assert (log / "00000" / "default" / "metadata.tsv").read_text() == "name\tnumber\na\t1\nb\t2\n"
    text = (log / "projector_config.pbtxt").read_text()
    assert text.count("embeddings {") == 2
    assert "single_image_dim: 8" in text


def test_purge_step(tmp_path):
    from mashal.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as w:
        for step in range(4):
            w.add_scalar("x", step, step)
    with SummaryWriter(tmp_path, purge_step=2, filename_suffix=".more") as w:
        w.add_scalar("x", 20, 2)
    assert [e.value for e in read(tmp_path).Scalars("x")] == [0, 1, 20]


def test_records_of_tensors_can_be_read():
    from tensorboard.util.tensor_util import make_ndarray

    from mashal.utils.tensorboard import summary

    for name in ("float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"):
        t = mashal.tensor([[0, 1, 3]]).to(getattr(mashal, name))
        got = make_ndarray(summary.tensor_proto("t", t).value[0].tensor)
        assert got.dtype == name
        assert got.tolist() == t.tolist()


def test_half_types_are_stored_as_their_bits():  # PyTorch stores those of float32
    from mashal.utils.tensorboard import summary

    for dtype, bits in ((mashal.float16, 0x3C00), (mashal.bfloat16, 0x3F80)):
        assert summary.tensor_proto("t", mashal.tensor([1.0, -1.0], dtype=dtype)).value[0].tensor.half_val == [
            bits,
            bits | 0x8000,
        ]


def test_rescaled_picture():
    from mashal.utils.tensorboard import summary

    picture = summary.image("i", PICTURE, rescale=2, dataformats="CHW").value[0].image
    assert (picture.height, picture.width) == (16, 16)  # PyTorch writes the old size beside the new picture


def test_mistakes(writer):
    with pytest.raises(AssertionError, match="one element"):
        writer.add_scalar("s", mashal.ones(2))
    with pytest.raises(NotImplementedError, match="expects a tensor, an array or a number"):
        writer.add_scalar("s", object())
    with pytest.raises(ValueError, match="no element"):
        writer.add_histogram("h", mashal.ones(0))
    with pytest.raises(AssertionError, match="input_format"):
        writer.add_image("i", mashal.ones(2, 2))
    with pytest.raises(AssertionError, match="1 dimensional"):
        writer.add_audio("a", mashal.ones(2, 10))
    with pytest.raises(TypeError, match="should be dictionary"):
        writer.add_hparams([], {})
    with pytest.raises(TypeError, match="same type"):
        writer.add_hparams({"a": 1}, {}, {"a": ["x"]})
    with pytest.raises(ValueError, match="value should be one of"):
        writer.add_hparams({"a": object()}, {})
    with pytest.raises(NotImplementedError, match="add_graph: mashal does not trace"):
        writer.add_graph(mashal.nn.Linear(1, 1))
    with pytest.raises(AssertionError, match="#labels"):
        writer.add_embedding(mashal.ones(2, 2), ["a"])


def test_without_the_package():
    program = "import sys; sys.modules['tensorboard'] = None; import mashal.utils.tensorboard"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: utils.tensorboard needs the package tensorboard" in done.stderr
