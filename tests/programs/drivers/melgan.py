"""descriptinc/melgan-neurips: scripts/train.py on synthetic voices for a few steps, with the samples it generates."""

import random
from pathlib import Path

import librosa
import numpy as np
import scipy.io.wavfile
import torch
from _driver import modules, report, script

# The program is of 2019: librosa then took the arguments by position, stft gave pairs of numbers, and it wants CUDA.
mel, stft = librosa.filters.mel, torch.stft
librosa.filters.mel = lambda sr, n_fft, n_mels, fmin, fmax: mel(sr=sr, n_fft=n_fft, n_mels=n_mels, fmin=fmin, fmax=fmax)
torch.stft = lambda *arguments, **named: torch.view_as_real(stft(*arguments, **named, return_complex=True))
torch.Tensor.cuda = torch.nn.Module.cuda = lambda self: self

torch.manual_seed(0)
np.random.seed(0)  # noqa: NPY002 - what the program draws from
random.seed(0)
rate = 22050
time = np.arange(rate * 3 // 2) / rate
Path("data").mkdir()
for i in range(6):
    pitch = 100 + 35 * i
    voice = sum(np.sin(2 * np.pi * k * pitch * time + np.sin(5 * time)) / k for k in range(1, 10))
    noise = np.random.default_rng(i).normal(size=time.size)
    scipy.io.wavfile.write(f"data/{i}.wav", rate, ((0.2 * voice + 0.02 * noise) * 20000).astype(np.int16))
Path("data/train_files.txt").write_text("".join(f"{i}.wav\n" for i in range(5)))
Path("data/test_files.txt").write_text("5.wav\n")

modules()
said = script(
    "scripts/train.py", "--save_path=out", "--data_path=data", "--ngf=4", "--n_residual_layers=2", "--num_D=2",
    "--batch_size=2", "--seq_len=4096", "--epochs=2", "--log_interval=1", "--save_interval=4",
)  # fmt: skip
found = [float(v) for line in said.splitlines() if "| loss" in line for v in line.split("[")[1].strip("]").split()]
samples = scipy.io.wavfile.read("out/generated_0.wav")[1]
report([*found, *(samples[::2000] / 32768)])
