"""The records of an event file, one function for each kind of data."""

from __future__ import annotations

import io
import json
import logging
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ... import _core
from ._convert_np import make_np
from ._utils import convert_to_HWC, prepare_video

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "draw_boxes",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "make_video",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]

logger = logging.getLogger(__name__)
_TINY = 1e-7
# DataType of TensorProto, and the field that holds the numbers.
_FIELDS = {
    "float16": ("DT_HALF", "half_val"),
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "int8": ("DT_INT8", "int_val"),
    "uint8": ("DT_UINT8", "int_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "bool": ("DT_BOOL", "bool_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
}


def _shape(*sizes: int) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _metadata(plugin: str, content: bytes = b"") -> Any:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


# ---- numbers ----


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Any:
    """One number.

    Args:
        name: its tag.
        tensor: a number, or a tensor of one element.
        collections: ignored, as by PyTorch.
        new_style: as a tensor record, which TensorBoard reads faster.
        double_precision: in such a record, as float64.
    """
    value = make_np(tensor).squeeze()
    if value.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and "
            f"{value.ndim} dimensions."
        )
    number = float(value)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    if double_precision:
        proto = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        proto = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=_metadata("scalars"))])


def tensor_proto(tag: str, tensor: Any) -> Any:
    """A whole tensor.

    Raises:
        ValueError: for a type that records cannot hold.
    """
    t = tensor.detach().cpu()
    name = repr(t.dtype).rpartition(".")[2]
    if name not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {t.dtype}")
    kind, field = _FIELDS[name]
    flat = t.contiguous().reshape(-1)
    values: list[Any]
    if field == "half_val":  # the bits, as integers
        values = [v & 0xFFFF for v in flat.view(_core.int16).tolist()]
    elif t.dtype.is_complex:
        values = [part for v in flat.tolist() for part in (v.real, v.imag)]
    else:
        values = flat.tolist()
    proto = TensorProto(dtype=kind, tensor_shape=_shape(*t.shape), **{field: values})
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=_metadata("tensor"))])


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Any:
    """A histogram that the program has computed. ``bucket_limits`` are the upper ends of the buckets."""
    histo = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return Summary(value=[Summary.Value(tag=name, histo=histo)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """A histogram of values.

    Args:
        name: its tag.
        values: a tensor or array.
        bins: edges, or a rule of ``numpy.histogram``.
        max_bins: join neighbouring buckets until there are about so many.
    """
    return Summary(value=[Summary.Value(tag=name, histo=make_histogram(make_np(values).astype(float), bins, max_bins))])


def make_histogram(values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """The record of a histogram. Raises: ValueError if there are no values."""
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        short = -len(counts) % step
        counts = np.pad(counts, (0, short)).reshape(-1, step).sum(1)
        limits = np.append(limits[:-1:step], limits[-1])
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = filled[0], filled[-1]
    # A bucket is from the limit before it to its own: an empty one in front gives the first its lower end.
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=[0, *counts[first : last + 1].tolist()],
    )


# ---- pictures and sound ----


def _bytes(array: Any, tensor: Any) -> Any:
    """Values as bytes: integers as they are, fractions of one times 255."""
    scale = 1 if getattr(array, "dtype", None) == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture, or several as a grid.

    Args:
        tag: its tag.
        tensor: uint8, or fractions of one.
        rescale: a factor for the size.
        dataformats: which dimension is which.
    """
    array = make_np(tensor)
    picture = convert_to_HWC(_bytes(array, tensor), dataformats)
    return Summary(value=[Summary.Value(tag=tag, image=make_image(picture, rescale=rescale))])


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Any:
    """A picture with boxes ``(left, top, right, bottom)`` drawn on it."""
    array = make_np(tensor_image)
    picture = convert_to_HWC(_bytes(array, tensor_image), dataformats)
    rois = make_np(tensor_boxes)
    return Summary(value=[Summary.Value(tag=tag, image=make_image(picture, rescale=rescale, rois=rois, labels=labels))])


def draw_boxes(disp_image: Any, boxes: Any, labels: Any = None) -> Any:
    """Draws boxes, and a label at the foot of each, on a picture of the Pillow library; returns it."""
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(disp_image)
    for i, box in enumerate(boxes):
        left, top, right, bottom = (float(v) for v in box)
        draw.rectangle([min(left, right), min(top, bottom), max(left, right), max(top, bottom)], outline="red", width=2)
        if labels:
            text_box = draw.textbbox((left, bottom), labels[i], font=ImageFont.load_default(), anchor="lb")
            draw.rectangle(text_box, fill="red")
            draw.text((left, bottom), labels[i], fill="black", font=ImageFont.load_default(), anchor="lb")
    return disp_image


def make_image(tensor: Any, rescale: float = 1, rois: Any = None, labels: Any = None) -> Any:
    """The record of an (H, W, C) picture of uint8, as PNG."""
    from PIL import Image

    height, width, channels = tensor.shape
    picture = Image.fromarray(np.ascontiguousarray(tensor))
    if rois is not None:
        picture = draw_boxes(picture, rois, labels=labels)
    size = int(width * rescale), int(height * rescale)
    if size != (width, height):
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(height=size[1], width=size[0], colorspace=channels, encoded_image_string=output.getvalue())


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Videos (N, T, C, H, W) of uint8 or fractions of one, side by side, as an animated GIF."""
    array = prepare_video(make_np(tensor))
    # Whatever the type was, these are fractions of one now.
    return Summary(value=[Summary.Value(tag=tag, image=make_video((array * 255).clip(0, 255).astype(np.uint8), fps))])


def make_video(tensor: Any, fps: float) -> Any:
    """The record of a video (T, H, W, C) of uint8."""
    from PIL import Image

    frames = [Image.fromarray(np.repeat(f, 3, 2) if f.shape[2] == 1 else np.ascontiguousarray(f)) for f in tensor]
    _, height, width, channels = tensor.shape
    output = io.BytesIO()
    frames[0].save(output, "GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0)
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue())


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Sound: one channel of samples in [-1, 1], as a WAV file of 16 bits."""
    array = make_np(tensor).squeeze()
    if abs(array).max(initial=0) > 1:
        logger.warning("audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.tobytes())
    record = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=output.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=record)])


# ---- text, hyperparameters, charts ----


def text(tag: str, text: str) -> Any:
    """A text in Markdown."""
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode("utf8")], tensor_shape=_shape(1))
    metadata = _metadata("text", TextPluginData(version=0).SerializeToString())
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=proto)])


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Three records: what is varied and measured, the values of this run, and its end.

    Raises:
        TypeError: an argument is no dictionary, or a domain is no list of values of the parameter's type.
        ValueError: a value is no number, text, bool or tensor of one element.
    """
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    for name, value in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(value, dict):
            logger.warning("parameter: %s should be a dictionary, nothing logged.", name)
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, domain in domains.items():
        if (
            key not in hparam_dict
            or not isinstance(domain, list)
            or not all(isinstance(d, type(hparam_dict[key])) for d in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same type as hparam_dict[{key}]."
            )

    start = plugin_data_pb2.SessionStartInfo()
    infos = []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, _core.Tensor):
            value = make_np(value).item()
        info = api_pb2.HParamInfo(name=key)
        if isinstance(value, str):
            start.hparams[key].string_value = value
            info.type = api_pb2.DataType.Value("DATA_TYPE_STRING")
        elif isinstance(value, bool):
            start.hparams[key].bool_value = value
            info.type = api_pb2.DataType.Value("DATA_TYPE_BOOL")
        elif isinstance(value, (int, float, np.number)):
            start.hparams[key].number_value = float(value)
            info.type = api_pb2.DataType.Value("DATA_TYPE_FLOAT64")
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        if key in domains:
            info.domain_discrete.CopyFrom(struct_pb2.ListValue())
            info.domain_discrete.extend(domains[key])
        infos.append(info)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metric_dict]

    def record(tag: str, **content: Any) -> Any:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        described = _metadata(metadata.PLUGIN_NAME, data.SerializeToString())
        return Summary(value=[Summary.Value(tag=tag, metadata=described)])

    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        record(metadata.EXPERIMENT_TAG, experiment=experiment),
        record(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        record(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """Charts that join tags: ``{category: {title: ["Multiline" or "Margin", [tag, ...]]}}``."""
    categories = []
    for category, charts in layout.items():
        entries = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"custom_scalars: a margin chart must have 3 tags, got {len(tags)}.")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                entries.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                content = layout_pb2.MultilineChartContent(tag=[rf"{tag}" for tag in tags])
                entries.append(layout_pb2.Chart(title=title, multiline=content))
        categories.append(layout_pb2.Category(title=category, chart=entries))
    data = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[data], tensor_shape=TensorShapeProto())
    return Summary(
        value=[Summary.Value(tag="custom_scalars__config__", tensor=proto, metadata=_metadata("custom_scalars"))]
    )


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """A precision-recall curve that the program has computed, from the counts at each threshold."""
    return _pr_record(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """The precision-recall curve of predicted probabilities for 0/1 labels."""
    count = min(num_thresholds, 127)  # what fits the page
    data = compute_curve(make_np(labels), make_np(predictions), num_thresholds=count, weights=weights)
    return _pr_record(tag, data, count)


def _pr_record(tag: str, data: Any, num_thresholds: int) -> Any:
    content = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, 127)).SerializeToString()
    proto = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape))
    return Summary(value=[Summary.Value(tag=tag, metadata=_metadata("pr_curves", content), tensor=proto)])


def compute_curve(labels: Any, predictions: Any, num_thresholds: int | None = None, weights: Any = None) -> Any:
    """True and false positives, true and false negatives, precision and recall, a row each, a threshold a column."""
    count = num_thresholds or 127
    weight = np.ones(labels.shape) if weights is None else make_np(weights)
    weight = np.broadcast_to(weight, labels.shape).astype(float)
    positive = labels.astype(float)
    # What is predicted p counts as positive at the thresholds up to p.
    bucket = np.floor(predictions * (count - 1)).astype(int).reshape(-1)
    reach = (0, count - 1)
    tp_at, _ = np.histogram(bucket, bins=count, range=reach, weights=(positive * weight).reshape(-1))
    fp_at, _ = np.histogram(bucket, bins=count, range=reach, weights=((1 - positive) * weight).reshape(-1))
    tp = tp_at[::-1].cumsum()[::-1]
    fp = fp_at[::-1].cumsum()[::-1]
    tn = fp[0] - fp
    fn = tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(_TINY, tp + fp), tp / np.maximum(_TINY, tp + fn)))


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Any,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Points (N, P, 3), with colours (N, P, 3) of uint8 and triangles (N, F, 3) of point numbers where given."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    config = json.dumps(config_dict or {}, sort_keys=True)
    parts = [(vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)]
    parts = [(tensor, kind) for tensor, kind in parts if tensor is not None]
    components = metadata.get_components_bitmask([kind for _, kind in parts])
    values = []
    for tensor, kind in parts:
        array = make_np(tensor).astype(float)
        described = metadata.create_summary_metadata(
            tag, display_name, kind, components, array.shape, description, json_config=config
        )
        proto = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(*array.shape))
        values.append(Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=proto, metadata=described))
    return Summary(value=values)
