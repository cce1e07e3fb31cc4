"""``SummaryWriter``: what programs log goes to event files, through a thread of the tensorboard package."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn

from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import summary
from ._convert_np import make_np
from ._embedding import get_embedding_info, make_mat, make_sprite, make_tsv, write_pbtxt
from ._utils import figure_to_image

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Appends records to an event file of its own in a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Queues an event, at a step, at a time in seconds since 1970 (default now)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Queues a record."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Writes what is queued."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what is queued and closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continues in the file after :meth:`close`."""
        self.event_writer.reopen()


def _default_bins() -> list[float]:
    """Buckets that grow by a tenth from 1e-12 to 1e20, on both sides of zero: TensorFlow's."""
    positive = []
    v = 1e-12
    while v < 1e20:
        positive.append(v)
        v *= 1.1
    return [*(-v for v in reversed(positive)), 0.0, *positive]


class SummaryWriter:
    """Logs for TensorBoard.

    Args:
        log_dir: the folder, default ``runs/<date>_<host><comment>``.
        comment: a suffix of the default folder.
        purge_step: TensorBoard hides what a crashed run logged at this step and after it.
        max_queue: so many records wait before one call blocks.
        flush_secs: seconds between writes.
        filename_suffix: of the event file.

    All methods take ``global_step``, and ``walltime`` in seconds since 1970 instead of the present time.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            moment = datetime.now().astimezone().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{moment}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _get_file_writer(self) -> FileWriter:
        """The writer of the folder; a new one after :meth:`close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _add(self, record: Any, global_step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(record, global_step, walltime)

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The hyperparameters of a run and what it reached.

        Args:
            hparam_dict: names and values (numbers, texts, bools, tensors of one element).
            metric_dict: names and numbers; logged as scalars too.
            hparam_domain_discrete: the values that each parameter may have.
            run_name: the folder of the run within this one, default the time.
            global_step: the step of the metrics.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        records = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for record in records:
                run._get_file_writer().add_summary(record, global_step)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number. ``new_style`` records are faster to read, and may be float64 (``double_precision``)."""
        record = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(record, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers for one chart. Each name has an event file of its own, in a folder beside this one's."""
        walltime = time.time() if walltime is None else walltime
        home = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = f"{home}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """A whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """A histogram of values. ``bins``: "tensorflow" (growing by a tenth), a rule of NumPy ("auto") or edges."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A histogram that the program has computed; ``bucket_limits`` are upper ends."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        record = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(record, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: uint8, or fractions of one. ``dataformats`` names the dimensions ("HWC", "HW")."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several pictures of one size, as a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """A picture with boxes (left, top, right, bottom) on it, each with a label where given."""
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            if len(labels) != box_tensor.shape[0]:
                labels = None
        record = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels
        )
        self._add(record, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A matplotlib figure, or several as a grid; ``close`` closes them."""
        form = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dataformats=form)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Videos (N, T, C, H, W), as an animated GIF of ``fps`` frames a second."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Sound: (1, L) or (L,) samples in [-1, 1]."""
        self._add(summary.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> NoReturn:
        """The graph of a model: needs tracing, which mashal does not have (yet). Raises: NotImplementedError."""
        raise NotImplementedError(
            "SummaryWriter.add_graph: mashal does not trace models (yet), see docs/supported.md. All else that the "
            "writer logs works; leave this call out."
        )

    def add_onnx_graph(self, prototxt: Any) -> NoReturn:
        """The graph of an ONNX file: not here (yet). Raises: NotImplementedError."""
        raise NotImplementedError(
            "SummaryWriter.add_onnx_graph: mashal does not read ONNX (yet), see docs/supported.md."
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points for the projector.

        Args:
            mat: (N, D) coordinates.
            metadata: N labels; with ``metadata_header``, N rows of labels.
            label_img: (N, C, H, W) pictures.
            global_step: the step.
            tag: the name of the set.
            metadata_header: the names of the columns of labels.
        """
        points = make_np(mat)
        step = 0 if global_step is None else global_step
        subdir = f"{str(step).zfill(5)}/{_encoded(tag)}"
        home = self._get_file_writer().get_logdir()
        folder = os.path.join(home, subdir)
        os.makedirs(folder, exist_ok=True)
        if metadata is not None:
            if points.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            make_tsv(metadata, folder, metadata_header=metadata_header)
        if label_img is not None:
            if points.shape[0] != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            make_sprite(label_img, folder)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        make_mat(points, folder)
        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()
        info = get_embedding_info(metadata, label_img, subdir, str(step).zfill(5), tag)
        self._projector_config.embeddings.extend([info])
        from google.protobuf import text_format

        write_pbtxt(home, text_format.MessageToString(self._projector_config))

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """The precision-recall curve of predicted probabilities for 0/1 labels."""
        record = summary.pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights)
        self._add(record, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A precision-recall curve that the program has computed."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        arrays = [make_np(a) for a in (*counts, precision, recall)]
        self._add(summary.pr_curve_raw(tag, *arrays, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart with the scalars of several tags; call it once."""
        self._add(summary.custom_scalars({category: {title: ["Multiline", tags]}}), None, None)

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart with a value and its lower and upper bound, given as three tags; call it once."""
        if len(tags) != 3:
            raise AssertionError(f"add_custom_scalars_marginchart: tags must be three, got {len(tags)}.")
        self._add(summary.custom_scalars({category: {title: ["Margin", tags]}}), None, None)

    def add_custom_scalars(self, layout: Mapping[str, Any]) -> None:
        """Charts: ``{category: {title: ["Multiline" or "Margin", tags]}}``; call it once."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Points (N, P, 3), their colours (N, P, 3) and triangles (N, F, 3); ``config_dict`` goes to three.js."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def flush(self) -> None:
        """Writes what is queued."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what is queued and closes the files; the next call of a method opens a new one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encoded(tag: str) -> str:
    """A tag as the name of a folder."""
    return "".join(c if c.isalnum() or c in "-_. " else f"%{ord(c):02x}" for c in tag)
