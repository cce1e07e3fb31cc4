"""digit-recognizer-py's network on scikit-learn's digits, upscaled to MNIST's 20 pixels in a frame of 28."""

import importlib.util

import numpy as np
import torch
from _driver import clock, report
from PIL import Image
from sklearn.datasets import load_digits

# The package itself imports torchvision; its network stands in a file of its own.
package = importlib.util.find_spec("digit_recognizer").submodule_search_locations[0]
spec = importlib.util.spec_from_file_location("digit_network", f"{package}/model.py")
network = importlib.util.module_from_spec(spec)
spec.loader.exec_module(network)

model = network.CNN().eval()
saved = torch.load(f"{package}/models/handwriting_model.pth", map_location="cpu")
model.load_state_dict(saved.get("model_state_dict", saved))
digits = load_digits()
pictures = [Image.fromarray((pixels / 16 * 255).astype(np.uint8)) for pixels in digits.images]
large = np.stack([np.asarray(picture.resize((20, 20), Image.Resampling.BICUBIC)) for picture in pictures])
x = torch.nn.functional.pad(torch.from_numpy(large).float()[:, None] / 255, (4, 4, 4, 4))
x = (x - 0.1307) / 0.3081
with clock(), torch.no_grad():
    out = model(x)
accuracy = (out.argmax(1) == torch.from_numpy(digits.target)).float().mean().item()
assert round(100 * accuracy, 1) == 87.0, accuracy
report([accuracy, *out[::100].flatten().tolist()])
