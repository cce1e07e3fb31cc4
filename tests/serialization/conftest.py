"""The two libraries, and files that go from one to the other."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch

import mashal


@pytest.fixture(params=["mashal", "torch"])
def lib(request: pytest.FixtureRequest) -> Any:
    return {"mashal": mashal, "torch": torch}[request.param]


@pytest.fixture
def through() -> Any:
    """Saves with one library and loads with another."""

    def go(obj: Any, writer: Any, reader: Any, weights_only: bool = True, **options: Any) -> Any:
        buffer = io.BytesIO()
        with warnings.catch_warnings(action="ignore"):
            writer.save(obj, buffer, **options)
            buffer.seek(0)
            return reader.load(buffer, weights_only=weights_only)

    return go


@pytest.fixture(autouse=True)
def no_registered_globals() -> Any:
    yield
    mashal.serialization.clear_safe_globals()
    torch.serialization.clear_safe_globals()
