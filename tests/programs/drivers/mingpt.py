"""karpathy/minGPT: its Trainer on sorting short lists of digits, as in its demo."""

import torch
from _driver import clock, modules, report

modules()
from mingpt.model import GPT  # noqa: E402
from mingpt.trainer import Trainer  # noqa: E402
from mingpt.utils import set_seed  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

set_seed(3407)


class Sorting(Dataset):
    """Six digits, then the same in order; the inputs are not predicted."""

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        digits = torch.randint(0, 3, (6,), generator=generator)
        both = torch.cat([digits, digits.sort().values])
        x, y = both[:-1].clone(), both[1:].clone()
        y[:5] = -1
        return x, y


config = GPT.get_default_config()
config.model_type, config.vocab_size, config.block_size = "gpt-nano", 3, 11
model = GPT(config)
settings = Trainer.get_default_config()
settings.learning_rate, settings.max_iters, settings.num_workers, settings.device = 5e-4, 30, 0, "cpu"
trainer = Trainer(settings, model, Sorting())
losses = []
trainer.set_callback("on_batch_end", lambda t: losses.append(t.loss.item()))
with clock():
    trainer.run()
    model.eval()
    out = model.generate(torch.tensor([[2, 1, 0, 1, 2, 0]]), 6, do_sample=False)
report([*losses, *out[0].tolist()])
