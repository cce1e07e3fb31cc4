"""Token networks."""

from __future__ import annotations

from typing import Any


def gpt(t: Any, vocab: int = 256, block: int = 128, layers: int = 6, heads: int = 6, width: int = 384) -> Any:
    """Decoder-only transformer with pre-normalisation (Radford et al., 2019); ``cache`` continues a generation."""
    nn, functional = t.nn, t.nn.functional

    class Attention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x: Any, cache: list[Any] | None) -> Any:
            batch, length, _ = x.shape
            q, k, v = (
                part.view(batch, length, heads, width // heads).transpose(1, 2)
                for part in self.qkv(x).split(width, dim=2)
            )
            causal = True
            if cache is not None:
                if cache:
                    k, v, causal = t.cat([cache[0], k], 2), t.cat([cache[1], v], 2), False
                cache[:] = [k, v]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(), nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any, cache: list[Any] | None) -> Any:
            x = x + self.attention(self.norm1(x), cache)
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(vocab, width), nn.Embedding(block, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
            self.head.weight = self.token.weight
            for table in (self.token, self.position):  # as GPT-2's; with N(0, 1) the loss begins at 250
                nn.init.normal_(table.weight, std=0.02)

        def forward(self, tokens: Any, caches: list[list[Any]] | None = None) -> Any:
            start = caches[0][0].shape[2] if caches and caches[0] else 0
            x = self.token(tokens) + self.position(t.arange(start, start + tokens.shape[1]))
            for i, part in enumerate(self.blocks):
                x = part(x, caches[i] if caches is not None else None)
            return self.head(self.norm(x))

    return GPT()


def lstm(t: Any, vocab: int = 5000, width: int = 256, layers: int = 2) -> Any:
    """Word model: embedding, LSTM, projection to the vocabulary (Zaremba et al., 2014)."""
    nn = t.nn

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(vocab, width), nn.LSTM(width, width, layers)
            self.head = nn.Linear(width, vocab)

        def forward(self, tokens: Any, state: Any) -> Any:
            out, state = self.lstm(self.embedding(tokens), state)
            return self.head(out), state

    return Model()


def bert(t: Any, vocab: int = 5000, length: int = 128, layers: int = 4, heads: int = 4, width: int = 256) -> Any:
    """Encoder with learned positions (Devlin et al., 2019) and a token head, on ``nn.TransformerEncoder``."""
    nn = t.nn

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(vocab, width), nn.Embedding(length, width)
            self.norm = nn.LayerNorm(width)
            layer = nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocab)

        def forward(self, tokens: Any) -> Any:
            x = self.norm(self.token(tokens) + self.position(t.arange(tokens.shape[1])))
            return self.head(self.encoder(x))

    return Model()
