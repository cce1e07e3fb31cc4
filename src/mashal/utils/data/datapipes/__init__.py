"""Pipes: data sets made of small steps that are chained by methods."""

from . import iter, map

__all__ = ["iter", "map"]
