"""Pictures in the layouts that programs have them in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def figure_to_image(figures: Any, close: bool = True) -> Any:
    """Renders a matplotlib figure to a (3, H, W) array of uint8, several to (N, 3, H, W).

    Args:
        figures: one figure or several.
        close: close them afterwards.
    """
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def render(figure: Any) -> Any:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        image = np.array(canvas.buffer_rgba())[:, :, :3]
        if close:
            plt.close(figure)
        return np.moveaxis(image, 2, 0)

    if isinstance(figures, Iterable):
        return np.stack([render(figure) for figure in figures])
    return render(figures)


def make_grid(images: Any, ncols: int = 8) -> Any:
    """Lays (N, C, H, W) pictures out in rows of at most ``ncols``: (3, rows * H, columns * W), empty places black."""
    if images.ndim != 4 or images.shape[1] not in (1, 3, 4):
        raise AssertionError(f"make_grid: pictures must be (N, 1 or 3, H, W), got {images.shape}.")
    if images.shape[1] == 1:
        images = np.repeat(images, 3, axis=1)
    n, c, h, w = images.shape
    columns = min(n, ncols)
    rows = math.ceil(n / max(columns, 1))
    canvas = np.zeros((rows * columns, c, h, w), images.dtype)
    canvas[:n] = images
    return canvas.reshape(rows, columns, c, h, w).transpose(2, 0, 3, 1, 4).reshape(c, rows * h, columns * w)


def convert_to_HWC(tensor: Any, input_format: str) -> Any:
    """Brings a picture, or several as a grid, to (H, W, 3).

    Args:
        tensor: an array.
        input_format: the name of each of its dimensions: N, C, H, W, in any order; "HW" is grey.

    Raises:
        AssertionError: the format has a letter twice, or not one for each dimension.
    """
    form = input_format.upper()
    if len(set(form)) != len(form):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {input_format}")
    if tensor.ndim != len(form):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {tensor.shape}, "
            f"input_format: {input_format}"
        )
    if len(form) == 4:
        grid = make_grid(tensor.transpose([form.index(c) for c in "NCHW"]))
        return grid.transpose(1, 2, 0)
    if len(form) == 3:
        image = tensor.transpose([form.index(c) for c in "HWC"])
        return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image
    if len(form) == 2:
        image = tensor.transpose([form.index(c) for c in "HW"])
        return np.stack([image] * 3, 2)
    raise AssertionError(f"convert_to_HWC: input_format must have 2, 3 or 4 letters, got {input_format}.")


def prepare_video(video: Any) -> Any:
    """Lays (N, T, C, H, W) videos out side by side, in about as many rows as columns: (T, rows * H, columns * W, C)."""
    n, t, c, h, w = video.shape
    if video.dtype == np.uint8:
        video = video.astype(np.float32) / 255.0
    # The next power of two, so that the grid is full.
    size = 1 << max(n - 1, 0).bit_length()
    full = np.zeros((size, t, c, h, w), video.dtype)
    full[:n] = video
    rows = 1 << ((size.bit_length() - 1) // 2)
    columns = size // rows
    grid = full.reshape(rows, columns, t, c, h, w).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(t, rows * h, columns * w, c)
