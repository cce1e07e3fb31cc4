"""Forward passes of whole networks and generation with a key-value cache: time beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _networks import Make, Step, main
from models import language, vision


def images(build: Callable[[Any], Any], batch: int) -> Make:
    """One forward pass of fixed random 224x224 images, in eval mode."""

    def make(t: Any) -> Step:
        model, x = build(t).eval(), t.randn(batch, 3, 224, 224)
        return t.inference_mode()(lambda: model(x))  # type: ignore[no-any-return]

    return make


def bert_base(t: Any) -> Step:
    """12 layers of 768 with 12 heads; the head is the identity, as for embeddings."""
    model = language.bert(t, 30522, 512, 12, 12, 768).eval()
    model.head = t.nn.Identity()
    tokens = t.randint(0, 30522, (1, 128))
    return t.inference_mode()(lambda: model(tokens))  # type: ignore[no-any-return]


def gpt2_small(t: Any) -> Step:
    """32 tokens after a prompt of 64, the likeliest each time."""
    model = language.gpt(t, 50257, 1024, 12, 12, 768).eval()
    prompt = t.randint(0, 50257, (1, 64))

    @t.inference_mode()  # type: ignore[untyped-decorator]
    def step() -> Any:
        caches: list[list[Any]] = [[] for _ in range(12)]
        out = model(prompt, caches)
        for _ in range(31):
            out = model(out[:, -1:].argmax(-1), caches)
        return out

    return step


CASES: dict[str, tuple[float, Make]] = {
    "ResNet-50 224 b1": (0.6, images(lambda t: vision.resnet(t, (3, 4, 6, 3), bottleneck=True), 1)),
    "ResNet-50 224 b8": (0.6, images(lambda t: vision.resnet(t, (3, 4, 6, 3), bottleneck=True), 8)),
    "MobileNetV2 224 b1": (0.5, images(vision.mobilenet_v2, 1)),
    "BERT-base b1 x 128": (0.9, bert_base),
    "GPT-2-small generation, cached": (0.8, gpt2_small),
}

if __name__ == "__main__":
    main(CASES, __doc__)
