"""Networks with random weights, in torchvision's arrangement."""

import enum

from torch import nn

#: Width of the hidden layers of VGG's classifier; a driver that doesn't use the classifier makes it small.
HEAD = 4096


class VGG16_Weights(enum.Enum):
    """Accepted, and not used: the weights are random."""

    IMAGENET1K_V1 = 1


_PLANS = {
    "vgg16": (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"),
    "vgg19": (64, 64, "M", 128, 128, "M", *(256,) * 4, "M", *(512,) * 4, "M", *(512,) * 4, "M"),
}


class VGG(nn.Module):
    """``features`` are numbered as in the original, so that programs can pick layers of it."""

    def __init__(self, plan, batch_norm=False, num_classes=1000):
        super().__init__()
        layers, channels = [], 3
        for width in plan:
            if width == "M":
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            layers += [nn.BatchNorm2d(width), nn.ReLU(True)] if batch_norm else [nn.ReLU(True)]
            channels = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, HEAD), nn.ReLU(True), nn.Dropout(),
            nn.Linear(HEAD, HEAD), nn.ReLU(True), nn.Dropout(), nn.Linear(HEAD, num_classes),
        )  # fmt: skip

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def vgg16(pretrained=False, weights=None, **kwargs):
    return VGG(_PLANS["vgg16"], **kwargs)


def vgg19(pretrained=False, weights=None, **kwargs):
    return VGG(_PLANS["vgg19"], **kwargs)


def vgg19_bn(pretrained=False, weights=None, **kwargs):
    return VGG(_PLANS["vgg19"], batch_norm=True, **kwargs)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """The kind with two convolutions per block."""

    def __init__(self, depths, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        for i, depth in enumerate(depths):
            width = 64 << i
            blocks = [BasicBlock(channels, width, 1 if i == 0 else 2)]
            blocks += [BasicBlock(width, width) for _ in range(depth - 1)]
            self.add_module(f"layer{i + 1}", nn.Sequential(*blocks))
            channels = width
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(pretrained=False, weights=None, **kwargs):
    return ResNet((2, 2, 2, 2), **kwargs)


def resnet34(pretrained=False, weights=None, **kwargs):
    return ResNet((3, 4, 6, 3), **kwargs)
