"""A short run of the fuzzer of checkpoints, and what its long runs have found."""

from __future__ import annotations

import io
import pickle

import pytest

import mashal
from mashal.serialization._archive import Writer
from mashal.utils import safetensors
from tests.fuzz.checkpoint_files import draw
from tests.fuzz.checkpoints import fuzz


def test_no_findings() -> None:
    found = fuzz(2000, seed=99)
    assert not found, "\n" + "\n".join(map(str, found))


def test_files_follow_from_their_seed() -> None:
    assert [draw(f"5.{i}") for i in range(50)] == [draw(f"5.{i}") for i in range(50)]


def archive(pickled: bytes) -> io.BytesIO:
    out = io.BytesIO()
    writer = Writer(out.write)
    writer.record("data.pkl", b"\x80\x02" + pickled)
    writer.close()
    return io.BytesIO(out.getvalue())


def test_strings_need_no_codec_module() -> None:
    """The opcode UNICODE imported a module of the standard library."""
    assert mashal.load(archive(b"V\\u00e9\n.")) == "é"


@pytest.mark.parametrize(
    "pickled", [b"F" + b"]" * 40_000 + b"\n.", b"I" + b"1" * 40_000 + b"\n.", b"g" + b"1" * 4000 + b"\n."]
)
def test_messages_are_short(pickled: bytes) -> None:
    """The message was as long as the file."""
    with pytest.raises(pickle.UnpicklingError) as caught:
        mashal.load(archive(pickled))
    assert len(str(caught.value)) < 1500


def test_headers_are_utf8() -> None:
    """JSON in UTF-16 was read, too."""
    text = '{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'.encode("utf-16-le")
    with pytest.raises(safetensors.SafetensorError):
        safetensors.load(len(text).to_bytes(8, "little") + text)
