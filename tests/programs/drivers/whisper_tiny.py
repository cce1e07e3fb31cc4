"""openai/whisper with a tiny network: mel front end, training, greedy, beam and sampled decoding, word timestamps."""

import itertools
import random
import sys
import types

import numpy as np
import torch
from _driver import clock, modules, report


class Encoding:
    """Byte pairs merged by rank, as tiktoken does, without its splitting into words first."""

    def __init__(self, name, explicit_n_vocab, pat_str, mergeable_ranks, special_tokens):
        self.name, self.ranks, self.special = name, mergeable_ranks, special_tokens
        self.bytes = {place: token for token, place in mergeable_ranks.items()}
        self.bytes |= {place: token.encode() for token, place in special_tokens.items()}
        self.special_tokens_set = set(special_tokens)
        self.eot_token = special_tokens["<|endoftext|>"]

    def encode(self, text, **named):
        parts = [bytes([byte]) for byte in text.encode()]
        while len(parts) > 1:
            pairs = [self.ranks.get(a + b, len(self.ranks)) for a, b in itertools.pairwise(parts)]
            place = pairs.index(min(pairs))
            if pairs[place] == len(self.ranks):
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [self.ranks[part] for part in parts]

    def encode_single_token(self, text):
        return self.special[text] if text in self.special else self.ranks[text.encode()]

    def decode(self, tokens, **named):
        return b"".join(self.bytes[token] for token in tokens).decode(errors="replace")


tiktoken, numba = types.ModuleType("tiktoken"), types.ModuleType("numba")
tiktoken.Encoding = Encoding
numba.jit = lambda **named: lambda function: function  # compiling takes longer than running
sys.modules |= {"tiktoken": tiktoken, "numba": numba}
modules()
import whisper  # noqa: E402
from whisper.tokenizer import get_tokenizer  # noqa: E402

torch.manual_seed(0)
random.seed(0)
size = {"n_mels": 80, "n_audio_ctx": 1500, "n_audio_state": 32, "n_audio_head": 2, "n_audio_layer": 1}
size |= {"n_vocab": 51865, "n_text_ctx": 64, "n_text_state": 32, "n_text_head": 2, "n_text_layer": 2}
model = whisper.Whisper(whisper.ModelDimensions(**size))
torch.nn.init.normal_(model.decoder.positional_embedding, std=0.01)
time = np.arange(4 * 16000) / 16000
noise = np.random.default_rng(0).normal(size=time.size)
audio = (0.3 * np.sin(2 * np.pi * (200 + 100 * time) * time) + 0.01 * noise).astype(np.float32)
tokenizer = get_tokenizer(multilingual=True, language="en", task="transcribe")
text = tokenizer.encode(" a tone that rises")
target = torch.tensor([[*tokenizer.sot_sequence_including_notimestamps, *text, tokenizer.eot]])
found = []
with clock():
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(audio))
    found += mel[::20, ::500].flatten().tolist()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(8):
        optimizer.zero_grad()
        logits = model(mel[None], target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    model.eval()
    torch.save({"dims": size, "model_state_dict": model.state_dict()}, "tiny.pt")
    model = whisper.load_model("tiny.pt", device="cpu")
    language, probabilities = model.detect_language(mel)
    found += [language.item(), probabilities["en"]]
    for options in ({}, {"beam_size": 2, "patience": 1.5}, {"temperature": 0.7, "best_of": 2}):
        result = model.decode(mel, whisper.DecodingOptions(language="en", fp16=False, sample_len=8, **options))
        found += [*result.tokens, result.avg_logprob, result.no_speech_prob, result.compression_ratio]
    result = model.transcribe(
        audio, language="en", fp16=False, sample_len=8, temperature=0.0, word_timestamps=True, no_speech_threshold=None
    )
    for segment in result["segments"]:
        found += [segment["start"], segment["end"], segment["avg_logprob"], *segment["tokens"]]
        found += [v for word in segment["words"] for v in (word["start"], word["end"], word["probability"])]
report(found)
