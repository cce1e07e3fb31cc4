"""The files of TensorBoard's projector."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._convert_np import make_np
from ._utils import make_grid


def make_tsv(metadata: Sequence[Any], save_path: str, metadata_header: Sequence[str] | None = None) -> None:
    """Writes the labels of points, one a line, or, with a header, several columns."""
    if not metadata_header:
        lines = [str(row) for row in metadata]
    else:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(str(item) for item in row) for row in [metadata_header, *metadata]]
    with open(os.path.join(save_path, "metadata.tsv"), "w", encoding="utf8") as file:
        file.write("\n".join(lines) + "\n")


def make_sprite(label_img: Any, save_path: str) -> None:
    """Writes the pictures of points as one square grid."""
    from PIL import Image

    images = make_np(label_img)
    rows = math.ceil(math.sqrt(images.shape[0]))
    square = np.zeros((rows * rows, *images.shape[1:]), images.dtype)
    square[: len(images)] = images
    grid = make_grid(square, rows).transpose(1, 2, 0)
    if grid.dtype != np.uint8:
        grid = (grid * 255).clip(0, 255).astype(np.uint8)
    Image.fromarray(grid).save(os.path.join(save_path, "sprite.png"))


def make_mat(matlist: Any, save_path: str) -> None:
    """Writes the coordinates, a point a line."""
    with open(os.path.join(save_path, "tensors.tsv"), "w", encoding="utf8") as file:
        file.writelines("\t".join(str(value) for value in row) + "\n" for row in matlist)


def get_embedding_info(metadata: Any, label_img: Any, subdir: str, global_step: str, tag: str) -> Any:
    """What the projector's configuration says about one set of points."""
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

    info = EmbeddingInfo(tensor_name=f"{tag}:{global_step}", tensor_path=f"{subdir}/tensors.tsv")
    if metadata is not None:
        info.metadata_path = f"{subdir}/metadata.tsv"
    if label_img is not None:
        info.sprite.image_path = f"{subdir}/sprite.png"
        info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
    return info


def write_pbtxt(save_path: str, contents: str) -> None:
    """Writes the projector's configuration."""
    with open(os.path.join(save_path, "projector_config.pbtxt"), "w", encoding="utf8") as file:
        file.write(contents)
