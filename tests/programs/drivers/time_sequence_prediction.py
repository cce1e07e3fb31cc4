"""pytorch/examples time_sequence_prediction: LSTM cells in float64 trained by LBFGS on sine waves."""

from _driver import numbers, report, script

script("time_sequence_prediction/generate_sine_wave.py")
report(numbers(r"loss: ([\d.e-]+)", script("time_sequence_prediction/train.py", "--steps=1")))
