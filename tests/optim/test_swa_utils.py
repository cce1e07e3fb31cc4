"""Averaged models against PyTorch's."""

import numpy as np
import pytest
import torch

import mashal

LIBS = (mashal, torch)


def model(lib, norm=True):
    layers = [lib.nn.Linear(3, 4)] + ([lib.nn.BatchNorm1d(4)] if norm else []) + [lib.nn.Linear(4, 1)]
    made = lib.nn.Sequential(*layers)
    rng = np.random.default_rng(0)
    with lib.no_grad():
        for p in made.parameters():
            p.copy_(lib.tensor(rng.standard_normal(tuple(p.shape)).astype("float32")))
    return made


def averaged(lib, kind, use_buffers):
    swa = lib.optim.swa_utils
    options = {
        "swa": {},
        "swa_fn": {"avg_fn": swa.get_swa_avg_fn()},
        "swa_multi": {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
        "ema_fn": {"avg_fn": swa.get_ema_avg_fn(0.9)},
        "ema_multi": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
    }
    return swa.AveragedModel(model(lib), **options[kind], use_buffers=use_buffers)


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("kind", ["swa", "swa_fn", "swa_multi", "ema_fn", "ema_multi"])
def test_averages(kind, use_buffers):
    if kind == "swa_multi" and use_buffers:
        pytest.skip("PyTorch's function does not take the integer buffer of batch norm")
    results = []
    rng = np.random.default_rng(1)
    data = [rng.standard_normal((5, 3)).astype("float32") for _ in range(4)]
    for lib in LIBS:
        trained, average = model(lib), averaged(lib, kind, use_buffers)
        optimizer = lib.optim.SGD(trained.parameters(), lr=0.1)
        for batch in data:
            optimizer.zero_grad()
            trained(lib.tensor(batch)).square().mean().backward()
            optimizer.step()
            average.update_parameters(trained)
        results.append(average.state_dict())
    assert results[0].keys() == results[1].keys()
    for key, value in results[1].items():
        np.testing.assert_allclose(results[0][key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6, err_msg=key)


def test_update_bn():
    results = []
    rng = np.random.default_rng(2)
    data = [rng.standard_normal((5, 3)).astype("float32") for _ in range(4)]
    for lib in LIBS:
        made = model(lib).eval()
        lib.optim.swa_utils.update_bn([(lib.tensor(batch), None) for batch in data], made)
        assert not made.training
        assert made[1].momentum == 0.1
        results.append(made.state_dict())
    for key, value in results[1].items():
        np.testing.assert_allclose(results[0][key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("lib", LIBS, ids=["mashal", "torch"])
def test_errors(lib):
    swa = lib.optim.swa_utils
    with pytest.raises(ValueError, match="Invalid decay value"):
        swa.get_ema_avg_fn(1.5)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa.AveragedModel(model(lib), avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn())
