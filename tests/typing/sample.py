"""A small user program that type checkers must accept; test_stubs.py runs mypy over it, and Python too."""

from collections.abc import Iterator

import mashal as torch
from mashal import Tensor, nn


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, -1) @ value


def batches(x: Tensor, size: int) -> Iterator[Tensor]:
    for i in torch.randperm(len(x)).split(size):
        yield x[i]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.linear(x)
        return x + self.scale * torch.relu(hidden)


def main() -> float:
    torch.manual_seed(0)
    model = Block(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.randn(8, 4, dtype=torch.float32, device="cpu")
    total = 0.0
    for batch in batches(data, 4):
        optimizer.zero_grad()
        loss: Tensor = (model(batch) - batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    grad: Tensor | None = model.scale.grad
    assert grad is not None
    values, indices = torch.topk(data.flatten(), 2)
    best: Tensor = data.max(dim=1).values.sum() + values[0] * 0 + indices[0] * 0
    shape: tuple[int, ...] = data.view(2, -1).shape
    rows: int = data.shape[0]
    data[0, :2] = 1.0
    data += 1
    same: bool = torch.equal(data, data.clone()) and torch.is_tensor(data)
    out = attention(data[None], data[None], data[None], torch.ones(8, 8).tril())
    with torch.no_grad():
        norm = float(out.norm()) + float(best) + len(shape) + rows + same
    return total + norm


if __name__ == "__main__":
    print(main())
