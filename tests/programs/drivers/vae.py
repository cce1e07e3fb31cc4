"""pytorch/examples vae: main.py on digits, two epochs, and its pictures."""

from pathlib import Path

from _driver import brightness, numbers, report, script, stand_ins

stand_ins()
Path("results").mkdir()
said = script("vae/main.py", "--epochs=2", "--batch-size=32", "--log-interval=1", "--no-accel")
pictures = sorted(Path("results").glob("*.png"))
report([*numbers(r"loss: ([\d.]+)", said.lower()), *map(brightness, pictures)])
