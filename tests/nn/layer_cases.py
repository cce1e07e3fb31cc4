"""One line per layer: (name, positional arguments, keyword arguments, inputs)."""

import torch


def _x(*shape):
    return ("normal", shape)


def _u(*shape):
    return ("uniform", shape)


def _i(high, *shape):
    return ("ints", high, shape)


# A recipe is a tuple; anything else is passed as it is.
def make(recipe, generator):
    kind = recipe[0]
    if kind == "normal":
        return torch.randn(recipe[1], generator=generator).requires_grad_()
    if kind == "uniform":
        return torch.rand(recipe[1], generator=generator).requires_grad_()
    if kind == "signs":
        return torch.randint(0, 2, recipe[1], generator=generator).float() * 2 - 1
    if kind == "softmax":
        return torch.randn(recipe[1], generator=generator).softmax(1)
    if kind == "bits":
        return torch.randint(0, 2, recipe[1], generator=generator).float()
    return torch.randint(0, recipe[1], recipe[2], generator=generator)


def _signs(*shape):
    return ("signs", shape)


def _bits(*shape):
    return ("bits", shape)


LAYERS = [
    ("Identity", (), {}, [_x(2, 3)]),
    ("Linear", (4, 3), {}, [_x(5, 4)]),
    ("Linear", (4, 3), {"bias": False}, [_x(2, 5, 4)]),
    ("Linear", (4, 3), {"dtype": torch.float32}, [_x(4)]),
    ("Bilinear", (3, 4, 2), {}, [_x(5, 3), _x(5, 4)]),
    ("Bilinear", (3, 4, 2, False), {}, [_x(2, 5, 3), _x(2, 5, 4)]),
    # convolutions
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1}, [_x(2, 4, 11)]),
    ("Conv1d", (4, 6, 3), {"groups": 2, "bias": False, "padding": "same"}, [_x(4, 11)]),
    ("Conv1d", (4, 6, 4), {"padding": "same", "padding_mode": "circular", "dilation": 2}, [_x(2, 4, 11)]),
    ("Conv2d", (3, 5, (3, 2)), {"dilation": (2, 1), "padding": (1, 0)}, [_x(2, 3, 9, 8)]),
    ("Conv2d", (3, 5, 3), {"padding": 1, "padding_mode": "reflect"}, [_x(2, 3, 6, 6)]),
    ("Conv2d", (3, 5, 3), {"padding": (2, 1), "padding_mode": "replicate"}, [_x(3, 6, 6)]),
    ("Conv2d", (4, 4, 3), {"groups": 4, "padding": "valid"}, [_x(2, 4, 6, 6)]),
    ("Conv3d", (2, 3, 2), {"stride": (1, 2, 1)}, [_x(1, 2, 4, 5, 6)]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, [_x(2, 4, 7)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2, "dilation": 2}, [_x(2, 4, 5, 6)]),
    ("ConvTranspose3d", (2, 3, 2), {"bias": False}, [_x(1, 2, 3, 3, 3)]),
    # pooling
    ("MaxPool1d", (3,), {"stride": 2, "return_indices": True}, [_x(2, 3, 11)]),
    ("MaxPool1d", (2,), {"ceil_mode": True}, [_x(3, 11)]),
    ("MaxPool2d", ((3, 2),), {"stride": (2, 1), "padding": (1, 0)}, [_x(2, 3, 9, 8)]),
    ("MaxPool2d", (2,), {"dilation": 2, "return_indices": True}, [_x(2, 3, 9, 8)]),
    ("MaxPool3d", (2,), {"return_indices": True}, [_x(2, 2, 4, 5, 6)]),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, [_x(2, 3, 11)]),
    ("AvgPool2d", (3,), {"stride": 2, "divisor_override": 5}, [_x(2, 3, 9, 8)]),
    ("AvgPool2d", ((3, 2),), {"padding": (1, 1), "ceil_mode": True}, [_x(2, 3, 9, 8)]),
    ("AvgPool3d", (2,), {}, [_x(2, 2, 4, 5, 6)]),
    ("AdaptiveAvgPool1d", (5,), {}, [_x(2, 3, 11)]),
    ("AdaptiveAvgPool2d", ((None, 3),), {}, [_x(2, 3, 9, 8)]),
    ("AdaptiveAvgPool2d", (1,), {}, [_x(2, 3, 9, 8)]),
    ("AdaptiveAvgPool3d", (2,), {}, [_x(2, 2, 4, 5, 6)]),
    ("AdaptiveMaxPool1d", (5,), {"return_indices": True}, [_x(2, 3, 11)]),
    ("AdaptiveMaxPool2d", ((None, 3),), {}, [_x(2, 3, 9, 8)]),
    ("AdaptiveMaxPool3d", (2,), {"return_indices": True}, [_x(2, 2, 4, 5, 6)]),
    ("FractionalMaxPool2d", (2,), {"output_size": (3, 4), "return_indices": True}, [_x(2, 3, 9, 8)]),
    ("FractionalMaxPool2d", ((2, 3),), {"output_ratio": 0.5}, [_x(3, 9, 8)]),
    ("FractionalMaxPool3d", (2,), {"output_size": (2, 3, 4), "return_indices": True}, [_x(2, 3, 7, 8, 9)]),
    ("FractionalMaxPool3d", (2,), {"output_ratio": (0.5, 0.4, 0.6)}, [_x(2, 3, 7, 8, 9)]),
    ("LPPool1d", (2, 3), {"stride": 2}, [_x(2, 3, 11)]),
    ("LPPool2d", (3, (3, 2)), {}, [_u(2, 3, 9, 8)]),
    ("LPPool3d", (2, 2), {"ceil_mode": True}, [_u(2, 3, 5, 5, 5)]),
    # normalisation
    ("BatchNorm1d", (4,), {}, [_x(6, 4)]),
    ("BatchNorm1d", (4,), {"momentum": None, "bias": False}, [_x(6, 4, 5)]),
    ("BatchNorm2d", (4,), {"affine": False}, [_x(2, 4, 3, 5)]),
    ("BatchNorm2d", (4,), {"track_running_stats": False, "eps": 1e-3}, [_x(2, 4, 3, 5)]),
    ("BatchNorm3d", (4,), {"momentum": 0.3}, [_x(2, 4, 3, 2, 2)]),
    ("InstanceNorm1d", (4,), {}, [_x(2, 4, 5)]),
    ("InstanceNorm1d", (4,), {"affine": True}, [_x(4, 5)]),
    ("InstanceNorm2d", (4,), {"affine": True, "track_running_stats": True}, [_x(2, 4, 5, 3)]),
    ("InstanceNorm3d", (4,), {"affine": True, "bias": False}, [_x(2, 4, 5, 3, 2)]),
    ("LayerNorm", ((3, 5),), {}, [_x(2, 4, 3, 5)]),
    ("LayerNorm", (5,), {"bias": False}, [_x(2, 5)]),
    ("LayerNorm", (5,), {"elementwise_affine": False, "eps": 1e-3}, [_x(2, 5)]),
    ("GroupNorm", (2, 4), {}, [_x(2, 4, 3, 5)]),
    ("GroupNorm", (2, 4), {"affine": False}, [_x(2, 4)]),
    ("GroupNorm", (2, 4), {"bias": False}, [_x(2, 4, 3)]),
    ("RMSNorm", (5,), {}, [_x(2, 5)]),
    ("RMSNorm", ((3, 5),), {"eps": 1e-3, "elementwise_affine": False}, [_x(2, 3, 5)]),
    ("LocalResponseNorm", (3,), {"alpha": 0.1}, [_x(2, 6, 4)]),
    ("LocalResponseNorm", (4,), {"alpha": 0.1}, [_x(2, 6, 4, 3)]),
    ("CrossMapLRN2d", (4,), {"alpha": 0.1, "k": 2}, None),
    # activations
    ("ReLU", (), {}, [_x(3, 4)]),
    ("ReLU", (True,), {}, None),
    ("ReLU6", (), {}, [_x(3, 4)]),
    ("RReLU", (0.1, 0.3), {}, [_x(30, 4)]),
    ("Hardtanh", (-0.5, 0.7), {}, [_x(3, 4)]),
    ("Sigmoid", (), {}, [_x(3, 4)]),
    ("Hardsigmoid", (), {}, [_x(3, 4)]),
    ("Tanh", (), {}, [_x(3, 4)]),
    ("SiLU", (), {}, [_x(3, 4)]),
    ("Mish", (), {}, [_x(3, 4)]),
    ("Hardswish", (), {}, [_x(3, 4)]),
    ("ELU", (0.7,), {}, [_x(3, 4)]),
    ("CELU", (0.7,), {}, [_x(3, 4)]),
    ("SELU", (), {}, [_x(3, 4)]),
    ("GLU", (), {}, [_x(3, 4)]),
    ("GELU", (), {}, [_x(3, 4)]),
    ("GELU", ("tanh",), {}, [_x(3, 4)]),
    ("Hardshrink", (), {}, [_x(3, 4)]),
    ("LeakyReLU", (0.2,), {}, [_x(3, 4)]),
    ("LeakyReLU", (0.2, True), {}, None),
    ("LogSigmoid", (), {}, [_x(3, 4)]),
    ("Softplus", (2.0, 1.0), {}, [_x(3, 4)]),
    ("Softshrink", (), {}, [_x(3, 4)]),
    ("PReLU", (), {}, [_x(3, 4)]),
    ("PReLU", (4,), {"init": 0.1}, [_x(3, 4, 5)]),
    ("Softsign", (), {}, [_x(3, 4)]),
    ("Tanhshrink", (), {}, [_x(3, 4)]),
    ("Softmin", (1,), {}, [_x(3, 4)]),
    ("Softmax", (0,), {}, [_x(3, 4)]),
    ("LogSoftmax", (1,), {}, [_x(3, 4)]),
    ("Softmax2d", (), {}, [_x(3, 4, 5)]),
    ("Threshold", (0.1, 20), {}, [_x(3, 4)]),
    # dropout
    ("Dropout", (0.3,), {}, [_x(30, 4)]),
    ("Dropout1d", (0.3,), {}, [_x(5, 6, 4)]),
    ("Dropout1d", (0.3,), {}, [_x(6, 4)]),
    ("Dropout2d", (0.3,), {}, [_x(5, 6, 4, 3)]),
    ("Dropout3d", (0.3,), {}, [_x(5, 6, 2, 4, 3)]),
    ("Dropout3d", (0.3,), {}, [_x(6, 2, 4, 3)]),
    ("AlphaDropout", (0.3,), {}, [_x(30, 4)]),
    ("FeatureAlphaDropout", (0.3,), {}, [_x(5, 6, 4)]),
    # tables
    ("Embedding", (10, 3), {}, [_i(10, 4, 5)]),
    ("Embedding", (10, 3), {"padding_idx": -2, "scale_grad_by_freq": True}, [_i(10, 4, 5)]),
    ("Embedding", (10, 3), {"max_norm": 0.5, "norm_type": 1.5}, [_i(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {}, [_i(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {"mode": "sum", "padding_idx": 1}, [_i(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {"mode": "max", "max_norm": 1.0}, [_i(10, 4, 5)]),
    # padding
    ("ConstantPad1d", (2, 3.5), {}, [_x(2, 3, 4)]),
    ("ConstantPad2d", ((1, -1, 2, 0), 3.5), {}, [_x(2, 3, 4, 5)]),
    ("ConstantPad3d", (1, 3.5), {}, [_x(2, 3, 4, 5, 2)]),
    ("ZeroPad1d", (1,), {}, [_x(2, 3, 4)]),
    ("ZeroPad2d", ((1, 2, 3, 4),), {}, [_x(2, 3, 4, 5)]),
    ("ZeroPad3d", (1,), {}, [_x(2, 3, 4, 5, 2)]),
    ("ReflectionPad1d", ((2, 1),), {}, [_x(2, 3, 4)]),
    ("ReflectionPad2d", ((1, 2, 0, 3),), {}, [_x(2, 3, 4, 5)]),
    ("ReflectionPad3d", (1,), {}, [_x(2, 3, 4, 5, 2)]),
    ("ReplicationPad1d", ((2, 5),), {}, [_x(3, 4)]),
    ("ReplicationPad2d", ((1, 2, 0, 3),), {}, [_x(2, 3, 4, 5)]),
    ("ReplicationPad3d", (2,), {}, [_x(2, 3, 4, 5, 2)]),
    ("CircularPad1d", ((2, 4),), {}, [_x(2, 3, 4)]),
    ("CircularPad2d", ((1, 2, 0, 3),), {}, [_x(3, 4, 5)]),
    ("CircularPad3d", (1,), {}, [_x(2, 3, 4, 5, 2)]),
    # resizing and rearranging
    ("Upsample", (), {"scale_factor": 2}, [_x(2, 3, 4)]),
    ("Upsample", (), {"size": (5, 7), "mode": "bilinear"}, [_x(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": (1.5, 2.3), "mode": "bicubic", "align_corners": True}, [_x(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": 1.7, "mode": "trilinear"}, [_x(1, 2, 3, 4, 5)]),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, [_x(2, 3, 4, 5)]),
    ("UpsamplingBilinear2d", (), {"size": (7, 9)}, [_x(2, 3, 4, 5)]),
    ("PixelShuffle", (2,), {}, [_x(2, 8, 3, 4)]),
    ("PixelUnshuffle", (2,), {}, [_x(2, 3, 4, 6)]),
    ("ChannelShuffle", (2,), {}, [_x(2, 6, 3)]),
    ("Flatten", (), {}, [_x(2, 3, 4)]),
    ("Flatten", (0, 1), {}, [_x(2, 3, 4)]),
    ("Unflatten", (1, (2, -1)), {}, [_x(2, 6)]),
    ("Fold", ((4, 5), (2, 2)), {}, [_x(2, 12, 12)]),
    ("Fold", (5, 3), {"padding": 1, "stride": 2}, [_x(18, 9)]),
    ("Unfold", ((2, 3),), {"dilation": (2, 1), "padding": 1}, [_x(2, 3, 6, 5)]),
    # distances and losses
    ("CosineSimilarity", (), {"dim": 1}, [_x(3, 4), _x(3, 4)]),
    ("CosineSimilarity", (), {"dim": -1}, [_x(3, 1, 4), _x(5, 4)]),
    ("PairwiseDistance", (), {}, [_x(3, 4), _x(3, 4)]),
    ("PairwiseDistance", (1.5,), {"keepdim": True}, [_x(3, 4), _x(4)]),
    ("L1Loss", (), {}, [_x(3, 4), _x(3, 4)]),
    ("MSELoss", (), {"reduction": "sum"}, [_x(3, 4), _x(3, 4)]),
    ("MSELoss", (), {"reduction": "none"}, [_x(3, 4), _x(3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0.5}, [_x(3, 4), _x(3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0, "reduction": "none"}, [_x(3, 4), _x(3, 4)]),
    ("HuberLoss", (), {"delta": 0.7}, [_x(3, 4), _x(3, 4)]),
    ("PoissonNLLLoss", (), {}, [_x(3, 4), _i(5, 3, 4)]),
    ("PoissonNLLLoss", (), {"log_input": False, "full": True}, [_u(3, 4), _i(5, 3, 4)]),
    ("GaussianNLLLoss", (), {}, [_x(3, 4), _x(3, 4), _u(3, 4)]),
    ("GaussianNLLLoss", (), {"full": True, "reduction": "none"}, [_x(3, 4), _x(3, 4), _u(3, 1)]),
    ("GaussianNLLLoss", (), {"eps": 0.5}, [_x(3, 4), _x(3, 4), _u(3)]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, [_x(3, 4), ("softmax", (3, 4))]),
    ("KLDivLoss", (), {"reduction": "sum", "log_target": True}, [_x(3, 4), _x(3, 4)]),
    ("HingeEmbeddingLoss", (), {"margin": 0.5}, [_x(3, 4), _signs(3, 4)]),
    ("SoftMarginLoss", (), {}, [_x(3, 4), _signs(3, 4)]),
    ("MarginRankingLoss", (), {"margin": 0.1}, [_x(5), _x(5), _signs(5)]),
    ("CosineEmbeddingLoss", (), {"margin": 0.1}, [_x(5, 3), _x(5, 3), _signs(5)]),
    ("CosineEmbeddingLoss", (), {}, [_x(3), _x(3), _signs()]),
    ("TripletMarginLoss", (), {"swap": True}, [_x(5, 3), _x(5, 3), _x(5, 3)]),
    ("TripletMarginLoss", (), {"p": 1.0, "margin": 2.0, "reduction": "none"}, [_x(3), _x(3), _x(3)]),
    ("TripletMarginWithDistanceLoss", (), {}, [_x(5, 3), _x(5, 3), _x(5, 3)]),
    ("NLLLoss", (), {}, [_x(4, 5), _i(5, 4)]),
    ("NLLLoss", (), {"weight": torch.arange(1.0, 6), "ignore_index": 2}, [_x(4, 5, 3), _i(5, 4, 3)]),
    ("NLLLoss", (), {"reduction": "none"}, [_x(4, 5, 2, 3), _i(5, 4, 2, 3)]),
    ("CrossEntropyLoss", (), {}, [_x(4, 5), _i(5, 4)]),
    ("CrossEntropyLoss", (), {}, [_x(5), _i(5)]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1, "ignore_index": 2}, [_x(9, 5), _i(5, 9)]),
    (
        "CrossEntropyLoss",
        (),
        {"label_smoothing": 0.1, "ignore_index": 2, "weight": torch.arange(1.0, 6)},
        [_x(4, 5, 3), _i(5, 4, 3)],
    ),
    ("CrossEntropyLoss", (), {"reduction": "none", "label_smoothing": 0.2}, [_x(4, 5, 3), _i(5, 4, 3)]),
    ("CrossEntropyLoss", (), {}, [_x(4, 5), ("softmax", (4, 5))]),
    (
        "CrossEntropyLoss",
        (),
        {"label_smoothing": 0.1, "weight": torch.arange(1.0, 6)},
        [_x(4, 5, 3), ("softmax", (4, 5, 3))],
    ),
    ("CrossEntropyLoss", (), {"reduction": "sum"}, [_x(5), _u(5)]),
    ("BCELoss", (), {}, [_u(3, 4), _bits(3, 4)]),
    ("BCELoss", (torch.tensor([1.0, 2, 3, 4]),), {"reduction": "sum"}, [_u(3, 4), _u(3, 4)]),
    ("BCEWithLogitsLoss", (), {}, [_x(3, 4), _bits(3, 4)]),
    (
        "BCEWithLogitsLoss",
        (),
        {"weight": torch.tensor([1.0, 2, 3, 4]), "pos_weight": torch.tensor([0.5, 2, 3, 4])},
        [_x(3, 4), _u(3, 4)],
    ),
    ("MultiLabelSoftMarginLoss", (), {"weight": torch.tensor([1.0, 2, 3, 4])}, [_x(3, 4), _bits(3, 4)]),
    ("MultiLabelMarginLoss", (), {}, [_x(3, 4), torch.tensor([[1, 2, -1, 0], [-1, 0, 0, 0], [3, 0, 1, 2]])]),
    ("MultiLabelMarginLoss", (), {"reduction": "none"}, [_x(4), torch.tensor([0, 0, -1, 2])]),
    ("MultiMarginLoss", (), {}, [_x(3, 4), _i(4, 3)]),
    (
        "MultiMarginLoss",
        (),
        {"p": 2, "margin": 0.5, "weight": torch.arange(1.0, 5), "reduction": "none"},
        [_x(3, 4), _i(4, 3)],
    ),
    ("MultiMarginLoss", (), {"reduction": "none"}, [_x(4), _i(4)]),
    (
        "CTCLoss",
        (),
        {},
        [("normal", (6, 2, 4)), torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([6, 5]), torch.tensor([3, 2])],
    ),
]


def label(case):
    name, args, kwargs, _ = case
    words = [name, *map(str, args), *(f"{k}={v}" for k, v in kwargs.items())]
    return "-".join(words).replace("\n", "").replace(" ", "")[:80]
