"""Logs for TensorBoard, written with the package ``tensorboard``: ``SummaryWriter``."""

try:
    from tensorboard.summary.writer.record_writer import RecordWriter
except ImportError as error:
    raise ModuleNotFoundError(
        "utils.tensorboard needs the package tensorboard (pip install tensorboard)", name=error.name
    ) from error

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
