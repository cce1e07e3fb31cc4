"""Records of what layers are made of: softmax, norms, losses, distances, convolution, pooling, padding, resampling."""

from __future__ import annotations

from tests.opdb import ALL_FLOATS, COMPLEX, FLOATS, D, Record, S, T

F = "nn.functional."
A, X, ONE, EMPTY = T((3, 4)), T((2, 3, 4)), T(()), T((0, 3))
IMAGE, SIGNAL, VOLUME = T((2, 4, 6, 5)), T((2, 4, 7)), T((1, 2, 4, 5, 3))
HALF = {"float16": 4e-3, "bfloat16": 3e-2}  # intermediate results kept wider than the type
PROB = T((3, 4), 0.05, 0.95)
CLASSES = T((3,), high=4, kind="index")

for _name in ("softmax", "log_softmax"):
    Record(
        _name,
        [S(A, 1), S(X, 1), S(X, -1), S(ONE, 0), S(EMPTY, 1), S(X, 0, dtype=D("float64"))],
        dtypes=ALL_FLOATS,
        tol=HALF,
        errors=[S(A, 2), S(T((2,), kind="int"), 0)],
    )
    Record(F + _name, [S(A, 1), S(X, dim=-1), S(X, dim=1, dtype=D("float64"))], errors=[S(A, 2)])
Record(F + "softmin", [S(A, 1), S(X, dim=0)])
Record(
    F + "layer_norm",
    [S(X, (4,)), S(X, (3, 4), T((3, 4)), T((3, 4))), S(X, [4], T((4,)), None, 1e-3)],
    dtypes=ALL_FLOATS,
    tol={**HALF, "float32": 5e-6},
    errors=[S(X, (3,)), S(X, (4,), T((3,))), S(X, ())],
)
Record(
    F + "rms_norm",
    [S(X, (4,)), S(X, (3, 4), T((3, 4))), S(X, [4], None, 1e-3)],
    tol={"float32": 5e-6},
    errors=[S(X, (3,))],
)
Record(
    F + "group_norm",
    [S(IMAGE, 2), S(SIGNAL, 4, T((4,)), T((4,))), S(IMAGE, 1, eps=1e-2)],
    tol={"float32": 5e-6},
    errors=[S(IMAGE, 3), S(IMAGE, 2, T((3,)))],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    F + "batch_norm",
    [
        S(IMAGE, T((4,), grad=False), T((4,), 0.5, 2.0, grad=False)),
        S(IMAGE, T((4,), grad=False), T((4,), 0.5, 2.0, grad=False), T((4,)), T((4,))),
    ],
    tol={"float32": 5e-6},
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    F + "batch_norm",
    [S(IMAGE, None, None, T((4,)), T((4,)), True), S(T((5, 4)), None, None, training=True)],
    tol={"float32": 5e-6},
    errors=[S(T((1, 4)), None, None, training=True), S(IMAGE, None, None)],
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(
    F + "instance_norm",
    [S(IMAGE), S(SIGNAL, weight=T((4,)), bias=T((4,)))],
    tol={"float32": 5e-6},
    strides="dense",
    layouts=("transposed", "sliced"),
)
Record(F + "local_response_norm", [S(IMAGE, 3), S(SIGNAL, 2, 1e-3, 0.5, 2.0)])
Record(F + "normalize", [S(A), S(X, 1.0, 2), S(A, dim=0, eps=1e-3)])

for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    Record(
        F + _name,
        [S(A, T((3, 4))), S(A, T((3, 4)), reduction="sum"), S(A, T((3, 4)), reduction="none"), S(ONE, T(()))],
        errors=[S(A, T((3, 4)), reduction="x")],
    )
Record(
    F + "smooth_l1_loss", [S(A, T((3, 4)), beta=0.3), S(A, T((3, 4)), beta=0.0)], errors=[S(A, T((3, 4)), beta=-1.0)]
)
Record(F + "huber_loss", [S(A, T((3, 4)), delta=0.4)], errors=[S(A, T((3, 4)), delta=0.0)])
Record(
    F + "kl_div",
    [
        S(T((3, 4), -3, -0.1), PROB),
        S(T((3, 4), -3, -0.1), PROB, reduction="batchmean"),
        S(A, A, log_target=True, reduction="sum"),
    ],
)
Record(
    F + "binary_cross_entropy",
    [S(PROB, PROB), S(PROB, PROB, T((3, 4), 0.1, 1.0, grad=False), reduction="sum"), S(PROB, PROB, reduction="none")],
    errors=[S(PROB, T((3, 5), 0, 1)), S(T((2,), values=[1.5, 0.5]), T((2,), 0, 1))],
)
Record(
    F + "binary_cross_entropy_with_logits",
    [
        S(A, PROB),
        S(A, PROB, pos_weight=T((4,), 0.5, 2.0, grad=False), reduction="none"),
        S(A, PROB, weight=T((3, 4), 0.1, 1.0, grad=False), reduction="sum"),
    ],
    errors=[S(A, T((3, 5)))],
)
Record(
    F + "nll_loss",
    [
        S(A, CLASSES),
        S(A, CLASSES, T((4,), 0.1, 1.0, grad=False)),
        S(A, CLASSES, reduction="none"),
        S(A, T((3,), values=[0, -100, 2], kind="int64")),
        S(T((2, 3, 4)), T((2, 4), high=3, kind="index"), reduction="sum"),
        S(T((4,)), T((), values=2, kind="int64")),
        S(A, CLASSES, ignore_index=1),
    ],
    errors=[S(A, T((2,), high=4, kind="index")), S(A, T((3,), values=[0, 4, 1], kind="int64"))],
)
Record(
    F + "cross_entropy",
    [
        S(A, CLASSES),
        S(A, CLASSES, T((4,), 0.1, 1.0, grad=False)),
        S(A, CLASSES, label_smoothing=0.1),
        S(A, PROB),
        S(A, PROB, reduction="sum", label_smoothing=0.2),
        S(A, CLASSES, reduction="none"),
        S(T((2, 3, 4)), T((2, 4), high=3, kind="index")),
        S(A, T((3,), values=[0, -100, 2], kind="int64"), label_smoothing=0.1),
        S(T((4,)), T((), values=2, kind="int64")),
    ],
    errors=[S(A, T((2,), high=4, kind="index")), S(A, CLASSES, label_smoothing=1.5)],
)
Record(
    F + "ctc_loss",
    [
        S(
            T((6, 2, 4), -3, -0.1),
            T((2, 3), values=[[1, 2, 2], [3, 1, 0]], kind="int64"),
            T((2,), values=[6, 5], kind="int64"),
            T((2,), values=[3, 2], kind="int64"),
            reduction=r,
        )
        for r in ("none", "mean", "sum")
    ],
    second=False,
    tol={"float32": 1e-5},
    strides=False,
    meta=False,
)
_SIGN = T((3,), values=[1, -1, 1], kind="int64")
Record(F + "margin_ranking_loss", [S(T((3,)), T((3,)), _SIGN, 0.3), S(T((3,)), T((3,)), _SIGN, reduction="sum")])
Record(F + "hinge_embedding_loss", [S(T((3,)), _SIGN), S(T((3,)), _SIGN, 0.5, reduction="none")])
Record(F + "soft_margin_loss", [S(T((3,)), _SIGN), S(T((3,)), _SIGN, reduction="none")])
Record(F + "cosine_embedding_loss", [S(T((3, 4)), T((3, 4)), _SIGN, 0.1)])
Record(
    F + "triplet_margin_loss",
    [S(A, T((3, 4)), T((3, 4))), S(A, T((3, 4)), T((3, 4)), margin=2.0, swap=True, reduction="none")],
)
Record(
    F + "multi_margin_loss",
    [
        S(A, CLASSES),
        S(A, CLASSES, p=2, margin=0.5),
        S(A, CLASSES, weight=T((4,), 0.1, 1.0, grad=False), reduction="none"),
    ],
    second=False,
)
Record(
    F + "multilabel_margin_loss",
    [S(A, T((3, 4), values=[[0, 2, -1, 1], [3, -1, 0, 0], [1, 2, 3, 0]], kind="int64"))],
    second=False,
)
Record(
    F + "multilabel_soft_margin_loss",
    [
        S(A, T((3, 4), values=[[0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]], kind="float64")),
    ],
    dtypes=("float64",),
)
Record(
    F + "poisson_nll_loss",
    [
        S(A, T((3, 4), 0.1, 3.0, grad=False)),
        S(T((3, 4), 0.1, 2.0), T((3, 4), 0.1, 3.0, grad=False), log_input=False, full=True),
    ],
)
Record(
    F + "gaussian_nll_loss",
    [S(A, T((3, 4)), T((3, 4), 0.2, 2.0)), S(A, T((3, 4)), T((3, 1), 0.2, 2.0), full=True, reduction="none")],
    meta=False,
)
Record(
    F + "gelu",
    [S(A), S(A, approximate="tanh")],
    dtypes=ALL_FLOATS,
    tol={"float16": 2e-3, "bfloat16": 1.6e-2},
    errors=[S(A, approximate="x")],
)
Record(F + "glu", [S(A), S(T((4, 3)), 0)], errors=[S(T((3, 3))), S(ONE)])
Record(F + "prelu", [S(X, T((3,))), S(X, T((1,))), S(T((4,)), T((1,)))], errors=[S(X, T((2,)))])
Record(F + "threshold", [S(A, 0.1, 20.0)])

Record(
    "norm",
    [S(A), S(A, 1), S(A, 2, 1), S(A, 3, 0, True), S(A, float("inf")), S(A, "fro"), S(A, 0, 1), S(T((3, 3)), "nuc")],
)
Record(
    "linalg.vector_norm",
    [S(A), S(A, 1), S(A, 3.5, 1), S(A, float("inf"), 0, True), S(A, float("-inf")), S(A, 0)],
    dtypes=(*FLOATS, *COMPLEX),
    out=True,
    errors=[S(A, 2, 2)],
)
Record("dist", [S(A, T((3, 4))), S(A, T((4,)), 1), S(A, T((3, 4)), float("inf"))])
Record("renorm", [S(A, 2, 0, 1.0), S(A, 1, 1, 0.5)], errors=[S(A, 2, 0, -1.0), S(T((3,)), 2, 0, 1.0)], strides="dense")
Record(
    "cdist",
    [
        S(T((2, 3, 4)), T((2, 5, 4))),
        S(A, T((5, 4)), 1.0),
        S(A, T((5, 4)), float("inf")),
        S(A, T((5, 4)), 3.0),
        S(A, T((0, 4))),
    ],
    second=False,
    tol={"float32": 1e-5},
    errors=[S(A, T((5, 3)))],
)
Record(F + "pdist", [S(T((4, 3))), S(T((4, 3)), 1.0)], second=False, errors=[S(T((4,)))])
Record(F + "pairwise_distance", [S(A, T((3, 4))), S(A, T((4,)), 1.0), S(A, T((3, 4)), keepdim=True)])
Record("cosine_similarity", [S(A, T((3, 4))), S(A, T((4,)), 1), S(X, T((2, 3, 4)), -1, 1e-3)])

_W1, _W2, _W3 = T((6, 2, 3)), T((6, 4, 3, 2)), T((3, 2, 2, 2, 2))
CONV = {"float32": 1e-5}  # long sums of products in another order
Record(
    F + "conv1d",
    [
        S(SIGNAL, T((6, 4, 3))),
        S(SIGNAL, _W1, T((6,)), 2, 1, 1, 2),
        S(SIGNAL, T((6, 4, 3)), padding="same"),
        S(T((4, 7)), T((6, 4, 3)), padding="valid", dilation=2),
    ],
    tol=CONV,
    errors=[
        S(SIGNAL, T((6, 3, 3))),
        S(SIGNAL, T((6, 4, 9))),
        S(SIGNAL, T((6, 4, 3)), stride=0),
        S(SIGNAL, T((6, 4, 3)), T((5,))),
    ],
    strides="dense",
)
Record(
    F + "conv2d",
    [
        S(IMAGE, _W2),
        S(IMAGE, _W2, T((6,)), 2, 1),
        S(IMAGE, T((4, 1, 3, 3)), None, 1, 1, 1, 4),
        S(IMAGE, _W2, padding=(2, 1), dilation=2),
        S(IMAGE, T((6, 4, 3, 3)), padding="same"),
        S(T((4, 6, 5)), _W2),
        S(T((0, 4, 6, 5)), _W2),
    ],
    tol=CONV,
    errors=[S(IMAGE, T((6, 3, 3, 3))), S(IMAGE, T((6, 4, 9, 9))), S(IMAGE, _W2, groups=3), S(IMAGE, _W2, padding=-1)],
)
Record(F + "conv3d", [S(VOLUME, _W3), S(VOLUME, _W3, T((3,)), 2, 1)], tol=CONV)
Record(
    F + "conv_transpose1d",
    [S(SIGNAL, T((4, 3, 3))), S(SIGNAL, T((4, 3, 3)), T((6,)), 2, 1, 1, 2)],
    tol=CONV,
    errors=[S(SIGNAL, T((3, 3, 3)))],
    strides="dense",
)
Record(
    F + "conv_transpose2d",
    [S(IMAGE, T((4, 3, 3, 2))), S(IMAGE, T((4, 3, 3, 2)), T((3,)), 2, 1, 1), S(IMAGE, T((4, 3, 3, 2)), dilation=2)],
    tol=CONV,
    errors=[S(IMAGE, T((4, 3, 3, 2)), output_padding=2)],
)
Record(F + "conv_transpose3d", [S(VOLUME, T((2, 3, 2, 2, 2))), S(VOLUME, T((2, 3, 2, 2, 2)), stride=2)], tol=CONV)
Record(
    F + "linear",
    [S(A, T((5, 4))), S(X, T((5, 4)), T((5,))), S(T((4,)), T((5, 4)), T((5,))), S(A, T((4,)))],
    tol={"float32": 4e-6},
    errors=[S(A, T((5, 3))), S(A, T((5, 4)), T((4,)))],
)
Record(F + "bilinear", [S(A, T((3, 5)), T((2, 4, 5)), T((2,)))], tol={"float32": 5e-6})

Record(
    F + "max_pool1d",
    [S(SIGNAL, 3), S(SIGNAL, 2, 1, 1), S(SIGNAL, 3, 2, 1, 1, True), S(SIGNAL, 2, return_indices=True)],
    errors=[S(SIGNAL, 9), S(SIGNAL, 2, 1, 2)],
    strides="dense",
)
Record(
    F + "max_pool2d",
    [
        S(IMAGE, 2),
        S(IMAGE, (3, 2), 1, 1),
        S(IMAGE, 2, 2, 0, 2),
        S(IMAGE, 3, 2, 1, ceil_mode=True),
        S(IMAGE, 2, return_indices=True),
        S(T((4, 6, 5)), 2),
    ],
    errors=[S(IMAGE, 9), S(IMAGE, 2, 2, 2), S(A, 2)],
)
Record(F + "max_pool3d", [S(VOLUME, 2), S(VOLUME, 2, 1, 1, return_indices=True)])
Record(
    F + "avg_pool1d",
    [S(SIGNAL, 3), S(SIGNAL, 2, 1, 1, False, False), S(SIGNAL, 3, 2, ceil_mode=True)],
    errors=[S(SIGNAL, 9)],
    strides="dense",
)
Record(
    F + "avg_pool2d",
    [S(IMAGE, 2), S(IMAGE, (3, 2), 1, 1), S(IMAGE, 3, 2, 1, True, False), S(IMAGE, 2, divisor_override=3)],
    errors=[S(IMAGE, 9), S(IMAGE, 2, divisor_override=0)],
)
Record(F + "avg_pool3d", [S(VOLUME, 2), S(VOLUME, 2, 1, 1)])
Record(F + "lp_pool2d", [S(IMAGE, 2.0, 2), S(IMAGE, 3.0, (2, 3), 1)], second=False)
Record(F + "adaptive_avg_pool1d", [S(SIGNAL, 3), S(SIGNAL, 1)], strides="dense")
Record(
    F + "adaptive_avg_pool2d", [S(IMAGE, 3), S(IMAGE, (2, None)), S(IMAGE, 1), S(T((4, 6, 5)), (6, 7))], strides=False
)
Record(F + "adaptive_avg_pool3d", [S(VOLUME, 2)], strides=False)
Record(F + "adaptive_max_pool1d", [S(SIGNAL, 3)], strides="dense")
Record(F + "adaptive_max_pool2d", [S(IMAGE, 3), S(IMAGE, (2, None)), S(IMAGE, 2, True)])
Record(F + "adaptive_max_pool3d", [S(VOLUME, 2)])
Record(F + "unfold", [S(IMAGE, 2), S(IMAGE, (3, 2), 1, 1, 2), S(IMAGE, 2, dilation=2)], errors=[S(IMAGE, 9)])
Record(
    F + "fold",
    [S(T((2, 16, 20)), (6, 5), 2), S(T((2, 16, 6)), (5, 4), 2, padding=0, stride=(2, 1))],
    errors=[S(T((2, 16, 7)), (6, 5), 2)],
)

Record(
    F + "pad",
    [
        S(A, (1, 2)),
        S(X, (1, 0, 2, 1), value=1.5),
        S(X, (-1, 1)),
        S(X, (1, 1), "reflect"),
        S(X, (2, 1), "replicate"),
        S(X, (1, 2), "circular"),
        S(IMAGE, (1, 2, 2, 0), "reflect"),
        S(IMAGE, (0, 2, 1, 1), "circular"),
        S(IMAGE, (3, 1, 0, 2), "replicate"),
        S(VOLUME, (1, 1, 1, 1, 1, 1), "replicate"),
        S(A, ()),
    ],
    errors=[S(A, (1,)), S(A, (1, 1, 1, 1, 1, 1)), S(X, (9, 9), "reflect"), S(A, (1, 1), "x"), S(A, (-3, -3))],
    strides="dense",
)
for _mode in ("nearest", "nearest-exact", "area"):
    Record(
        F + "interpolate",
        [
            S(SIGNAL, 4, mode=_mode),
            S(IMAGE, (3, 8), mode=_mode),
            S(IMAGE, scale_factor=1.7, mode=_mode),
            S(VOLUME, (2, 6, 3), mode=_mode),
        ],
        strides="dense",
    )
Record(
    F + "interpolate",
    [
        S(SIGNAL, 4, mode="linear"),
        S(SIGNAL, 12, mode="linear", align_corners=True),
        S(IMAGE, (3, 8), mode="bilinear"),
        S(IMAGE, (9, 8), mode="bilinear", align_corners=True),
        S(IMAGE, scale_factor=(0.6, 1.5), mode="bilinear", recompute_scale_factor=True),
        S(IMAGE, (4, 9), mode="bicubic"),
        S(IMAGE, (8, 8), mode="bicubic", align_corners=True),
        S(VOLUME, (3, 7, 4), mode="trilinear"),
    ],
    tol={"float32": 1e-5},
    errors=[S(SIGNAL, 4, mode="bilinear"), S(SIGNAL), S(SIGNAL, 4, scale_factor=2.0), S(SIGNAL, 4, mode="x")],
    strides="dense",
)
_GRID = T((2, 3, 4, 2), -1.2, 1.2)
Record(
    F + "grid_sample",
    [
        S(IMAGE, _GRID, align_corners=False),
        S(IMAGE, _GRID, "nearest", "border", False),
        S(IMAGE, _GRID, "bilinear", "reflection", True),
        S(IMAGE, _GRID, "bicubic", "zeros", False),
        S(VOLUME, T((1, 2, 2, 2, 3), -1.2, 1.2), align_corners=False),
    ],
    second=False,
    tol={"float32": 1e-5},
)
Record(
    F + "affine_grid",
    [S(T((2, 2, 3)), (2, 3, 4, 5), align_corners=False), S(T((1, 3, 4)), (1, 1, 2, 3, 4), align_corners=True)],
    tol={"float32": 5e-6},
)
Record(F + "pixel_shuffle", [S(T((2, 8, 3, 2)), 2)], errors=[S(IMAGE, 3)])
Record(F + "pixel_unshuffle", [S(T((2, 2, 6, 4)), 2)], errors=[S(IMAGE, 4)])
Record(F + "channel_shuffle", [S(IMAGE, 2)], errors=[S(IMAGE, 3)])
_Q, _K = T((2, 2, 5, 4)), T((2, 2, 6, 4))
Record(
    F + "scaled_dot_product_attention",
    [
        S(_Q, _K, T((2, 2, 6, 3))),
        S(_Q, _K, _K, T((5, 6))),
        S(_Q, _K, _K, T((5, 6), kind="bool")),
        S(_Q, _K, _K, is_causal=True),
        S(_Q, _K, _K, scale=0.3),
        S(_Q, T((2, 1, 6, 4)), T((2, 1, 6, 4)), enable_gqa=True),
    ],
    tol={"float32": 1e-5},
    strides=False,
    second=False,
    errors=[S(_Q, T((2, 2, 6, 3)), _K)],
)
for _name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
    Record(
        F + _name,
        [
            S(IMAGE if _name != "dropout3d" else VOLUME, 0.5, False),
            S(IMAGE if _name != "dropout3d" else VOLUME, 0.0, True),
        ]
        if _name != "dropout1d"
        else [S(SIGNAL, 0.5, False)],
        errors=[S(SIGNAL, 1.5)],
    )
Record(
    F + "embedding_bag",
    [S(T((2, 3), high=7, kind="index"), T((7, 4)), mode=m) for m in ("sum", "mean", "max")],
    second=False,
    meta=False,
)
Record("native_channel_shuffle", [S(IMAGE, 2)], grad=False)
Record("grid_sampler_2d", [S(IMAGE, _GRID, 0, 0, False)], second=False, tol={"float32": 1e-5})
Record("grid_sampler_3d", [S(VOLUME, T((1, 2, 2, 2, 3), -1.2, 1.2), 0, 1, True)], second=False, tol={"float32": 1e-5})
Record("max_pool1d_with_indices", [S(SIGNAL, 3)], strides="dense")
