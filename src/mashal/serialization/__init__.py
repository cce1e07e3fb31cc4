"""Checkpoints: ``mashal.save`` and ``mashal.load``, in the files of PyTorch.

Reading is done by a reader of our own that imports nothing and calls nothing but a table (:mod:`._reader`), unless the
user says ``weights_only=False``.
"""

from __future__ import annotations

from typing import Any

from ._globals import add_safe_globals as add_safe_globals
from ._globals import clear_safe_globals as clear_safe_globals
from ._globals import get_safe_globals as get_safe_globals
from ._globals import safe_globals as safe_globals
from ._load import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint
from ._load import load as load
from ._locations import default_restore_location as default_restore_location
from ._locations import location_tag as location_tag
from ._locations import register_package as register_package
from ._locations import validate_cuda_device as validate_cuda_device
from ._locations import validate_hpu_device as validate_hpu_device
from ._modules import SourceChangeWarning as SourceChangeWarning
from ._modules import check_module_version_greater_or_equal as check_module_version_greater_or_equal
from ._modules import mkdtemp as mkdtemp
from ._options import LoadEndianness as LoadEndianness
from ._options import get_crc32_options as get_crc32_options
from ._options import get_default_load_endianness as get_default_load_endianness
from ._options import get_default_mmap_options as get_default_mmap_options
from ._options import set_crc32_options as set_crc32_options
from ._options import set_default_load_endianness as set_default_load_endianness
from ._options import set_default_mmap_options as set_default_mmap_options
from ._options import skip_data as skip_data
from ._save import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from ._save import MAGIC_NUMBER as MAGIC_NUMBER
from ._save import PROTOCOL_VERSION as PROTOCOL_VERSION
from ._save import save as save
from ._storage_types import StorageType as StorageType

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages of that name: ``mashal.FloatStorage``, ``mashal.UntypedStorage``."""
    import mashal

    return getattr(mashal, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The legacy class of tensors over such a storage: that of ``FloatStorage`` is ``FloatTensor``."""
    import mashal

    return getattr(mashal, type(storage).__name__.replace("Storage", "Tensor"))
