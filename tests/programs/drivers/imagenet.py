"""pytorch/examples imagenet: main.py on fake pictures with ResNet-18, resumed once, then evaluated."""

from _driver import numbers, report, script, stand_ins

stand_ins()
from torchvision import datasets  # noqa: E402

whole = datasets.FakeData
datasets.FakeData = lambda size, shape, *rest: whole(4, (3, 64, 64), *rest)
common = ("--dummy", "--no-accel", "--workers=0", "--batch-size=2", "--print-freq=1", "--lr=0.001", "--seed=1")
resumed = ("--epochs=2", "--resume=checkpoint.pth.tar")
found = []
for arguments in (("--epochs=1",), resumed, ("-e", "--resume=model_best.pth.tar")):
    said = script("imagenet/main.py", *common, *arguments)
    found += numbers(r"Loss ([\d.e+-]+)", said) + numbers(r"Acc@5 +([\d.]+)", said)
report(found)
