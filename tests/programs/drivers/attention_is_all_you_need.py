"""jadore801120/attention-is-all-you-need-pytorch: train.py on reversing words, then beam search by its Translator."""

import argparse
import pickle
import random
import sys
import types

import torch
from _driver import clock, modules, numbers, report, script

# What it takes of torchtext's old interface and of dill.
SPECIAL = ["<unk>", "<blank>", "<s>", "</s>"]


class Vocabulary:
    def __init__(self, words):
        self.itos = SPECIAL + words
        self.stoi = {word: i for i, word in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)


class Field:
    def __init__(self, words):
        self.vocab = Vocabulary(words)


class Dataset:
    def __init__(self, examples, fields):
        self.examples, self.fields = examples, fields


class BucketIterator:
    """Batches of sentences of a length, one column each."""

    def __init__(self, dataset, batch_size, device, train=False):
        self.dataset, self.batch_size, self.train = dataset, batch_size, train

    def __iter__(self):
        examples = list(self.dataset.examples)
        if self.train:
            random.shuffle(examples)
        places = self.dataset.fields["src"].vocab.stoi
        for start in range(0, len(examples), self.batch_size):
            part = examples[start : start + self.batch_size]
            columns = []
            for side in (0, 1):
                longest = max(len(pair[side]) for pair in part)
                rows = [["<s>", *pair[side], "</s>"] + ["<blank>"] * (longest - len(pair[side])) for pair in part]
                columns.append(torch.tensor([[places[word] for word in row] for row in rows]).t())
            yield types.SimpleNamespace(src=columns[0], trg=columns[1])


data, datasets = types.ModuleType("torchtext.data"), types.ModuleType("torchtext.datasets")
datasets.TranslationDataset = Dataset
for kind in (Vocabulary, Field):  # which the file of data names
    kind.__module__ = "torchtext.data"
    setattr(data, kind.__name__, kind)
data.Dataset, data.BucketIterator = Dataset, BucketIterator
sys.modules |= {"torchtext": types.ModuleType("torchtext"), "torchtext.data": data, "torchtext.datasets": datasets}
sys.modules["dill"] = pickle

random.seed(0)
words = [f"word{i}" for i in range(20)]
sentences = [random.choices(words, k=random.randint(3, 7)) for _ in range(96)]
pairs = [(sentence, sentence[::-1]) for sentence in sentences]
field = Field(words)
with open("data.pkl", "wb") as file:
    everything = {"settings": argparse.Namespace(max_len=20), "vocab": {"src": field, "trg": field}}
    pickle.dump(everything | {"train": pairs[:80], "valid": pairs[80:]}, file)

said = script(
    "train.py", "-data_pkl", "data.pkl", "-output_dir", "out", "-epoch", 3, "-b", 16, "-d_model", 32, "-d_inner_hid",
    64, "-d_k", 8, "-d_v", 8, "-n_head", 4, "-n_layers", 2, "-warmup", 20, "-lr_mul", 0.5, "-seed", 1, "-no_cuda",
    "-embs_share_weight", "-proj_share_weight", "-label_smoothing",
)  # fmt: skip
found = numbers(r"ppl: +([\d.]+)", said) + numbers(r"accuracy: ([\d.]+)", said) + numbers(r"lr: +([\d.]+)", said)

modules()
from transformer.Models import Transformer  # noqa: E402
from transformer.Translator import Translator  # noqa: E402

saved = torch.load("out/model.chkpt", weights_only=False)
options = saved["settings"]
model = Transformer(
    options.src_vocab_size, options.trg_vocab_size, options.src_pad_idx, options.trg_pad_idx,
    trg_emb_prj_weight_sharing=options.proj_share_weight, emb_src_trg_weight_sharing=options.embs_share_weight,
    d_k=options.d_k, d_v=options.d_v, d_model=options.d_model, d_word_vec=options.d_word_vec,
    d_inner=options.d_inner_hid, n_layers=options.n_layers, n_head=options.n_head, dropout=options.dropout,
)  # fmt: skip
model.load_state_dict(saved["model"])
translator = Translator(model, 3, 12, 1, 1, 2, 3)
with clock():
    for sentence, _ in pairs[80:84]:
        source = [2, *(field.vocab.stoi[word] for word in sentence), 3]
        found += translator.translate_sentence(torch.tensor([source]))
report(found)
