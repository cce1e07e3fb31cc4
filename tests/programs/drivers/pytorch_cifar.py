"""kuangliu/pytorch-cifar: main.py for an epoch (SimpleDLA), and two steps of each of its other networks."""

import io
import os

import torch
from _driver import clock, modules, numbers, report, script, shorter, stand_ins

stand_ins()
import torchvision  # noqa: E402

torchvision.datasets.COUNTS = {True: 8, False: 4}
os.popen = lambda *arguments: io.StringIO("24 80")  # the size of the terminal, which its progress bar asks for
torch.manual_seed(0)
said = script("main.py", "--lr=0.01", names={"range": shorter(1, at_least=200)})
found = numbers(r"Loss: ([\d.]+)", said)
assert os.path.exists("checkpoint/ckpt.pth") == ("Saving" in said)

modules()
import models  # noqa: E402

# In float64: with four pictures some channels hardly vary, and their normalisation enlarges what rounding leaves.
torch.set_default_dtype(torch.float64)
x = torch.randn(4, 3, 32, 32)
y = torch.tensor([3, 1, 4, 1])
for make in (
    lambda: models.VGG("VGG11"), models.ResNet18, models.PreActResNet18, models.GoogLeNet, models.DenseNet121,
    models.ResNeXt29_2x64d, models.MobileNet, models.MobileNetV2, models.DPN26, models.SENet18,
    lambda: models.ShuffleNetV2(1), models.EfficientNetB0, models.RegNetX_200MF, models.PNASNetA, models.LeNet,
):  # fmt: skip
    net = make()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    with clock():
        for _ in range(2):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
report(found)
