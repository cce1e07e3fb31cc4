"""lucidrains/vit-pytorch: steps of AdamW for each of many of its transformers, and wrappers of them."""

import importlib
import random

import torch
from _driver import clock, modules, report, stand_ins

stand_ins()
modules()
torch.manual_seed(0)
random.seed(0)
common = {"num_classes": 10, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 48}
flat = {"image_size": 64, "patch_size": 16, **common}
dropped = {**flat, "dropout": 0.1, "emb_dropout": 0.1}
film = {"image_size": 32, "frames": 4, "image_patch_size": 16, "frame_patch_size": 2, **common}
stages = {f"s{i}_depth": 1 for i in (1, 2, 3)}
VARIANTS = (
    ("vit", "ViT", dropped),
    ("simple_vit", "SimpleViT", flat),
    ("deepvit", "DeepViT", dropped),
    ("cait", "CaiT", {**dropped, "cls_depth": 1, "layer_dropout": 0.05}),
    ("t2t", "T2TViT", {**common, "image_size": 64}),
    ("cct", "CCT", {"img_size": 64, "embedding_dim": 32, "n_conv_layers": 2, "num_layers": 2, "num_heads": 2,
                    "mlp_ratio": 2.0, "num_classes": 10, "positional_embedding": "learnable"}),
    ("cross_vit", "CrossViT", {"image_size": 64, "num_classes": 10, "depth": 2, "sm_dim": 16, "sm_patch_size": 8,
                               "sm_enc_heads": 2, "sm_enc_mlp_dim": 32, "lg_dim": 32, "lg_patch_size": 16,
                               "lg_enc_depth": 1, "lg_enc_heads": 2, "lg_enc_mlp_dim": 32, "cross_attn_heads": 2}),
    ("pit", "PiT", {**dropped, "depth": (1, 1, 1), "patch_size": 8}),
    ("levit", "LeViT", {"image_size": 64, "num_classes": 10, "dim": (16, 24, 32), "depth": 1, "heads": (1, 2, 2),
                        "mlp_mult": 2, "dropout": 0.1}),
    ("cvt", "CvT", {"num_classes": 10, **stages, "s1_emb_dim": 16, "s2_emb_dim": 24, "s3_emb_dim": 32,
                    "s3_heads": 2}),
    ("twins_svt", "TwinsSVT", {"num_classes": 10, **stages, "s4_depth": 1, "s1_local_patch_size": 4,
                               "s2_local_patch_size": 4, "s3_local_patch_size": 2, "s4_local_patch_size": 2,
                               "s1_emb_dim": 16, "s2_emb_dim": 16, "s3_emb_dim": 32, "s4_emb_dim": 32,
                               "s1_global_k": 2, "s2_global_k": 2, "s3_global_k": 2, "s4_global_k": 2}),
    ("regionvit", "RegionViT", {"num_classes": 10, "dim": (16, 16, 32, 32), "depth": (1, 1, 1, 1), "window_size": 2,
                                "use_peg": True}),
    ("crossformer", "CrossFormer", {"num_classes": 10, "dim": (32, 32, 64, 64), "depth": (1, 1, 1, 1),
                                    "local_window_size": 2}),
    ("scalable_vit", "ScalableViT", {"num_classes": 10, "dim": 16, "heads": (1, 1, 2, 2), "depth": (1, 1, 1, 1),
                                     "ssa_dim_key": (8, 8, 8, 8), "reduction_factor": (8, 4, 2, 1),
                                     "window_size": (8, 4, None, None), "dropout": 0.1}),
    ("max_vit", "MaxViT", {"num_classes": 10, "dim_conv_stem": 16, "dim": 16, "dim_head": 8, "depth": (1, 1, 1, 1),
                           "window_size": 2, "dropout": 0.1}),
    ("nest", "NesT", {"image_size": 64, "patch_size": 4, "dim": 16, "heads": 1, "num_hierarchies": 3,
                      "block_repeats": (1, 1, 1), "num_classes": 10}),
    ("mobile_vit", "MobileViT", {"image_size": (64, 64), "dims": [16, 24, 32], "num_classes": 10,
                                 "channels": [8, 8, 16, 16, 16, 16, 24, 24, 32, 32, 48]}),
    ("xcit", "XCiT", {**dropped, "cls_depth": 1, "layer_dropout": 0.05, "local_patch_kernel_size": 3}),
    ("rvt", "RvT", flat),
    ("ats_vit", "ViT", {**dropped, "max_tokens_per_depth": (8, 4)}),
    ("vit_with_patch_merger", "ViT", {**dropped, "patch_merge_layer": 1, "patch_merge_num_tokens": 4}),
    ("vit_with_patch_dropout", "ViT", {**flat, "patch_dropout": 0.25}),
    ("vit_for_small_dataset", "ViT", dropped),
    ("parallel_vit", "ViT", {**dropped, "num_parallel_branches": 2}),
    ("learnable_memory_vit", "ViT", dropped),
    ("simple_vit_with_register_tokens", "SimpleViT", flat),
    ("simple_vit_with_qk_norm", "SimpleViT", flat),
    ("simple_vit_with_fft", "SimpleViT", {**flat, "freq_patch_size": 8}),
    ("simple_vit_with_value_residual", "SimpleViT", flat),
    ("simple_flash_attn_vit", "SimpleViT", {**flat, "use_flash": True}),
    ("normalized_vit", "nViT", flat),
    ("vit_3d", "ViT", film),
    ("simple_vit_3d", "SimpleViT", film),
    ("vivit", "ViViT", {**{k: v for k, v in film.items() if k != "depth"}, "spatial_depth": 1, "temporal_depth": 1}),
)  # fmt: skip

images, video = torch.randn(4, 3, 64, 64), torch.randn(4, 3, 4, 32, 32)
labels = torch.tensor([3, 1, 4, 1])
found = []


def train(model, loss_of, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with clock():
        for _ in range(steps):
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            optimizer.step()
            found.append(loss.item())


for module, kind, arguments in VARIANTS:
    model = getattr(importlib.import_module(f"vit_pytorch.{module}"), kind)(**arguments)
    x = video if "frames" in arguments else images
    train(model, lambda model, x=x: torch.nn.functional.cross_entropy(model(x), labels))

from vit_pytorch import Dino, ViT  # noqa: E402
from vit_pytorch.distill import DistillableViT, DistillWrapper  # noqa: E402
from vit_pytorch.extractor import Extractor  # noqa: E402
from vit_pytorch.na_vit import NaViT  # noqa: E402
from vit_pytorch.recorder import Recorder  # noqa: E402

learner = Dino(ViT(**flat), image_size=64, hidden_layer="to_latent", projection_hidden_size=16, num_classes_K=64)


def dino(model):
    model.update_moving_average()
    return model(images.sigmoid())


train(learner, dino)
student = DistillableViT(**flat)
wrapper = DistillWrapper(student=student, teacher=ViT(**flat), temperature=3, alpha=0.5, hard=False)
train(wrapper, lambda model: model(images, labels))
sizes = [[(64, 64), (32, 32)], [(32, 64), (64, 32)], [(16, 64)]]
packed = [[torch.randn(3, *size) for size in row] for row in sizes]
navit = NaViT(**dropped, token_dropout_prob=0.1)
train(navit, lambda model: model(packed).square().mean())
model = ViT(**flat).eval()
with torch.no_grad():
    logits, attention = Recorder(model)(images)
    found += [attention.sum().item(), *attention[0, :, 0, 0, :4].flatten().tolist()]
    found += Extractor(model)(images)[1][0, 0, :8].tolist()
report(found)
