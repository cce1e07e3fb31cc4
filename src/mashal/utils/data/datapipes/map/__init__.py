"""Pipes over data with keys."""

from ._pipes import BatcherMapDataPipe as Batcher
from ._pipes import ConcaterMapDataPipe as Concater
from ._pipes import MapperMapDataPipe as Mapper
from ._pipes import SequenceWrapperMapDataPipe as SequenceWrapper
from ._pipes import ShufflerIterDataPipe as Shuffler
from ._pipes import ZipperMapDataPipe as Zipper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
