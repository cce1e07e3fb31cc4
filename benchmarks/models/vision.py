"""Image networks, after the papers named at each."""

from __future__ import annotations

from typing import Any


def mlp(t: Any) -> Any:
    """784-512-512-10."""
    nn = t.nn
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def lenet(t: Any) -> Any:
    """Two convolutions with pooling and two linear layers, on 28x28 (LeCun et al., 1998)."""
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def resnet(t: Any, layers: tuple[int, ...], bottleneck: bool = False, small: bool = False, classes: int = 1000) -> Any:
    """He et al., 2016; ``small`` is the form for 32x32 images: a 3x3 stem without pooling."""
    nn = t.nn
    expansion = 4 if bottleneck else 1

    def norm(width: int) -> Any:
        return nn.BatchNorm2d(width)

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = width * expansion
            if bottleneck:
                self.body = nn.Sequential(
                    nn.Conv2d(inputs, width, 1, bias=False), norm(width), nn.ReLU(inplace=True),
                    nn.Conv2d(width, width, 3, stride, 1, bias=False), norm(width), nn.ReLU(inplace=True),
                    nn.Conv2d(width, outputs, 1, bias=False), norm(outputs),
                )  # fmt: skip
            else:
                self.body = nn.Sequential(
                    nn.Conv2d(inputs, width, 3, stride, 1, bias=False), norm(width), nn.ReLU(inplace=True),
                    nn.Conv2d(width, width, 3, 1, 1, bias=False), norm(width),
                )  # fmt: skip
            self.short = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            out = self.body(x)
            out += self.short(x)
            return self.relu(out)

    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False)] if small else [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
    parts = [*stem, norm(64), nn.ReLU(inplace=True)]
    if not small:
        parts.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for stage, depth in enumerate(layers):
        width = 64 << stage
        for block in range(depth):
            parts.append(Block(inputs, width, 2 if block == 0 and stage > 0 else 1))
            inputs = width * expansion
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]
    return nn.Sequential(*parts)


def mobilenet_v2(t: Any) -> Any:
    """Sandler et al., 2018: inverted residuals with depthwise convolutions."""
    nn = t.nn

    def unit(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> list[Any]:
        conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
        return [conv, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True)]

    class Inverted(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
            super().__init__()
            hidden = inputs * expand
            parts = unit(inputs, hidden, 1) if expand != 1 else []
            parts += unit(hidden, hidden, 3, stride, hidden)
            parts += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
            self.body = nn.Sequential(*parts)
            self.skip = stride == 1 and inputs == outputs

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.skip else self.body(x)

    parts = unit(3, 32, 3, 2)
    inputs = 32
    table = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, width, depth, stride in table:
        for block in range(depth):
            parts.append(Inverted(inputs, width, stride if block == 0 else 1, expand))
            inputs = width
    parts += unit(inputs, 1280, 1)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))


def unet(t: Any, classes: int = 2, width: int = 32) -> Any:
    """Ronneberger et al., 2015, three levels, transposed convolutions upward."""
    nn = t.nn

    def double(inputs: int, outputs: int) -> Any:
        parts: list[Any] = []
        for channels in (inputs, outputs):
            parts += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)]
            parts += [nn.ReLU(inplace=True)]
        return nn.Sequential(*parts)

    class UNet(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            sizes = [width << level for level in range(4)]
            self.down = nn.ModuleList(double(i, o) for i, o in zip([3, *sizes], sizes, strict=False))
            self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * s, s, 2, 2) for s in reversed(sizes[:-1]))
            self.up = nn.ModuleList(double(2 * s, s) for s in reversed(sizes[:-1]))
            self.pool = nn.MaxPool2d(2)
            self.head = nn.Conv2d(width, classes, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for level, part in enumerate(self.down):
                x = part(x if level == 0 else self.pool(x))
                kept.append(x)
            kept.pop()
            for rise, part in zip(self.rise, self.up, strict=True):
                x = part(t.cat([kept.pop(), rise(x)], 1))
            return self.head(x)

    return UNet()
