"""Pictures of tensors."""

import math

import torch

from .transforms.functional import to_pil_image


@torch.no_grad()
def make_grid(tensor, nrow=8, padding=2, normalize=False, value_range=None, pad_value=0.0, **kwargs):
    """One picture of many, in rows of ``nrow``."""
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(list(tensor))
    if tensor.dim() == 3:
        tensor = tensor[None]
    if tensor.shape[1] == 1:
        tensor = tensor.expand(-1, 3, -1, -1)
    value_range = value_range or kwargs.get("range")
    if normalize:
        low, high = value_range or (float(tensor.min()), float(tensor.max()))
        tensor = (tensor.clamp(low, high) - low) / max(high - low, 1e-5)
    count, channels, height, width = tensor.shape
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    step_y, step_x = height + padding, width + padding
    grid = tensor.new_full((channels, rows * step_y + padding, columns * step_x + padding), pad_value)
    for i in range(count):
        y, x = divmod(i, columns)
        top, left = y * step_y + padding, x * step_x + padding
        grid[:, top : top + height, left : left + width] = tensor[i]
    return grid


@torch.no_grad()
def save_image(tensor, fp, **kwargs):
    to_pil_image(make_grid(tensor, **kwargs).clamp(0, 1).cpu()).save(fp)
