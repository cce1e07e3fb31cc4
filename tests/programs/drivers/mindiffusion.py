"""cloneofsimo/minDiffusion: DDPM over its small U-net and over its plain stack of convolutions, and sampling."""

import torch
from _driver import clock, modules, report, stand_ins

stand_ins()
modules()
import superminddpm  # noqa: E402
import torchvision  # noqa: E402
from mindiffusion.ddpm import DDPM  # noqa: E402
from mindiffusion.unet import NaiveUnet  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

torch.manual_seed(0)
# Gradients of what the normalisation takes out again are rounding errors, which Adam makes as large as any: in float64.
torch.set_default_dtype(torch.float64)
transforms = torchvision.transforms
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)])
torchvision.datasets.COUNTS = {True: 16, False: 4}
pictures = torchvision.datasets.CIFAR10("./data", train=True, download=True, transform=transform)
# Ten steps need large betas; small ones are lost in the program's 1 - alphabar, which is float32 at first.
ddpm = DDPM(eps_model=NaiveUnet(3, 3, n_feat=16), betas=(0.02, 0.4), n_T=10)
optimizer = torch.optim.Adam(ddpm.parameters(), lr=1e-5)
found = []
with clock():
    for x, _ in DataLoader(pictures, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = ddpm(x.double())
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    ddpm.eval()
    with torch.no_grad():
        out = ddpm.sample(2, (3, 32, 32), "cpu")
    torchvision.utils.save_image(torchvision.utils.make_grid(out, nrow=2), "sample.png")
    found += out[:, :, ::8, ::8].flatten().tolist()

plain = superminddpm.DDPM(superminddpm.DummyEpsModel(1), betas=(0.02, 0.4), n_T=10)
optimizer = torch.optim.Adam(plain.parameters(), lr=2e-4)
with clock():
    for _ in range(2):
        optimizer.zero_grad()
        loss = plain(torch.randn(2, 1, 8, 8))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
report(found)
