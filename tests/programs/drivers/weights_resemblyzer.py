"""resemblyzer's speaker embedding of synthetic voices: three LSTM layers over mel frames."""

import sys
import types

import numpy as np
import torch
from _driver import clock, report

# Its silence trimmer, not used here, needs a package that newer installations of setuptools break.
sys.modules.setdefault("webrtcvad", types.ModuleType("webrtcvad"))
from resemblyzer import VoiceEncoder  # noqa: E402

encoder = VoiceEncoder("cpu", verbose=False)
rate = 16000
time = np.arange(3 * rate) / rate


def voice(pitch, seed):
    """Harmonics of a pitch with vibrato, and breath."""
    phase = 2 * np.pi * (pitch * time + 2 * np.sin(5 * time))
    tone = sum(np.sin(k * phase) / k for k in range(1, 12))
    noise = np.random.default_rng(seed).normal(size=time.size)
    return (0.05 * tone + 0.005 * noise).astype(np.float32)


voices = [voice(110, 0), voice(115, 1), voice(240, 2)]
encoder.embed_utterance(voices[0])
with clock():
    embeddings = np.stack([encoder.embed_utterance(v) for v in voices for _ in range(3)])[::3]
assert np.allclose((embeddings**2).sum(1), 1, atol=1e-5)
assert embeddings[0] @ embeddings[1] > embeddings[0] @ embeddings[2]
with torch.no_grad():
    frames = torch.from_numpy(np.random.default_rng(0).random((4, 160, 40), dtype=np.float32))
    report([*embeddings.flatten(), *encoder(frames).flatten()])
