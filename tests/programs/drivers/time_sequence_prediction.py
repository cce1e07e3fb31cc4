"""pytorch/examples time_sequence_prediction: LSTM cells in float64 trained by LBFGS on the beginnings of sine waves."""

import numpy as np
import torch
from _driver import numbers, report, script

script("time_sequence_prediction/generate_sine_wave.py")
waves = torch.load("traindata.pt", weights_only=False)
torch.save(np.ascontiguousarray(waves[:8, :40]), "traindata.pt")
# The script is of the time when torch.load took arrays without being told.
allowed = [np._core.multiarray._reconstruct, np.ndarray, np.dtype, np.dtypes.Float64DType]
with torch.serialization.safe_globals(allowed):
    said = script("time_sequence_prediction/train.py", "--steps=1")
report(numbers(r"loss: ([\d.e-]+)", said))
