"""The modules that PyTorch has its layers in are there, without importing them."""

from __future__ import annotations

import pkgutil

import pytest
import torch

import mashal

PLACES = [m.name for m in pkgutil.iter_modules(torch.nn.modules.__path__) if not m.name.startswith("_")]
# Options are in nn.functional here; lazy layers are in the file `lazy`.
ELSEWHERE = ("linear_cross_entropy_options",)


@pytest.mark.parametrize("place", [name for name in PLACES if name not in ELSEWHERE])
def test_modules_are_attributes(place):
    assert hasattr(mashal.nn.modules, place)


@pytest.mark.parametrize("place", ["channelshuffle", "flatten", "fold", "pixelshuffle"])
def test_layers_are_in_their_modules(place):
    for name in getattr(torch.nn.modules, place).__all__:
        assert getattr(getattr(mashal.nn.modules, place), name) is getattr(mashal.nn, name)
