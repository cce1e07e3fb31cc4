# ruff: noqa: PLC0414 - programs import these names from here
"""The older name of :mod:`mashal.hub`'s downloads."""

from ..hub import download_url_to_file as _download_url_to_file  # noqa: F401 - programs import it from here
from ..hub import load_state_dict_from_url as load_url
from ..hub import tqdm as tqdm

__all__ = ["load_url"]
