"""Process-wide settings, devices that are absent, and names that are missing, against PyTorch."""

import threading
import warnings

import pytest
import torch

import mashal

FRAMEWORKS = (mashal, torch)


def raised(call, framework):
    try:
        with warnings.catch_warnings(action="ignore"):
            return call(framework)
    except Exception as e:  # noqa: BLE001 (the class is the result)
        return type(e)


FACTORIES = [
    lambda f: f.zeros(2), lambda f: f.ones(2), lambda f: f.empty(2), lambda f: f.full((2,), 1.0), lambda f: f.rand(2),
    lambda f: f.randn(2), lambda f: f.randint(3, (2,)), lambda f: f.randperm(3), lambda f: f.arange(3),
    lambda f: f.linspace(0, 1, 3), lambda f: f.eye(2), lambda f: f.tensor([1.0]), lambda f: f.as_tensor([1.0]),
    lambda f: f.hann_window(4), lambda f: f.tril_indices(2, 2), lambda f: f.empty_strided((2,), (1,)),
    lambda f: f.nn.Linear(2, 2).weight, lambda f: f.zeros(2, device="cpu"), lambda f: f.FloatTensor(2),
    lambda f: f.zeros_like(f.ones(2, device="cpu")), lambda f: f.from_numpy(__import__("numpy").ones(2)),
    lambda f: f.ones(2, device="cpu").new_zeros(2), lambda f: f.nn.Parameter(), lambda f: f.Tensor(2),
    lambda f: f.as_tensor(f.ones(1, device="cpu")), lambda f: f.logspace(0, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FACTORIES)))
def test_default_device(number):
    places = []
    for framework in FRAMEWORKS:
        with framework.device("meta"):
            places.append(FACTORIES[number](framework).device.type)
        assert FACTORIES[number](framework).device.type == "cpu"
    assert places[0] == places[1]


def test_default_device_nests_and_is_per_thread():
    seen = []
    mashal.set_default_device("meta")
    try:
        assert mashal.get_default_device() == mashal.device("meta")
        with mashal.device("cpu"):
            assert not mashal.ones(1).is_meta
            with mashal.device("meta"):
                assert mashal.ones(1).is_meta
            assert not mashal.ones(1).is_meta
        thread = threading.Thread(target=lambda: seen.append(mashal.ones(1).device.type))
        thread.start()
        thread.join()
    finally:
        mashal.set_default_device(None)
    assert seen == ["cpu"]
    assert not mashal.ones(1).is_meta

    @mashal.device("meta")
    def make():
        return mashal.ones(1)

    assert make().is_meta
    with pytest.raises(ZeroDivisionError), mashal.device("meta"):
        raise ZeroDivisionError
    assert not mashal.ones(1).is_meta


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.zeros(2, device="cuda"), lambda f: f.rand(2, device="cuda"), lambda f: f.empty(0, device="cuda:1"),
        lambda f: f.tensor([1], device="cuda"), lambda f: f.ones(1).to("cuda"), lambda f: f.ones(1).cuda(),
        lambda f: f.ones(1).new_zeros(2, device="cuda"), lambda f: f.zeros_like(f.ones(1), device="cuda"),
        lambda f: f.nn.Linear(1, 1).cuda(), lambda f: f.nn.Linear(1, 1, device="cuda"),
        lambda f: f.cuda.is_available(), lambda f: f.cuda.device_count(), lambda f: f.cuda.is_initialized(),
        lambda f: f.cuda.is_bf16_supported(), lambda f: f.cuda.current_device(), lambda f: f.cuda.get_device_name(),
        lambda f: f.cuda.get_device_name(0), lambda f: f.cuda.get_device_capability(), lambda f: f.cuda.synchronize(),
        lambda f: f.cuda.get_device_properties(0), lambda f: f.cuda.empty_cache(), lambda f: f.cuda.memory_allocated(),
        lambda f: f.cuda.max_memory_allocated(), lambda f: f.cuda.memory_reserved(), lambda f: f.cuda.memory_stats(),
        lambda f: f.cuda.max_memory_reserved(), lambda f: f.cuda.mem_get_info(), lambda f: f.cuda.current_stream(),
        lambda f: f.cuda.Stream(), lambda f: f.cuda.Event(), lambda f: f.cuda.stream(None).__enter__(),
        lambda f: f.cuda.manual_seed(1), lambda f: f.cuda.manual_seed_all(1), lambda f: f.cuda.seed(),
        lambda f: f.cuda.seed_all(), lambda f: f.cuda.get_rng_state_all(), lambda f: f.cuda.set_rng_state_all([]),
        lambda f: f.cuda.initial_seed(), lambda f: f.cuda.init(), lambda f: f.cuda.ipc_collect(),
        lambda f: f.cuda.get_arch_list(), lambda f: f.cuda.FloatTensor(2), lambda f: f.cuda.cudart(),
        lambda f: isinstance(f.ones(1), f.cuda.FloatTensor), lambda f: f.cuda.device(0).__enter__(),
        lambda f: f.cuda.device(-1).__enter__(), lambda f: f.cuda.set_device(-1), lambda f: f.cuda.set_device("cpu"),
        lambda f: f.cuda.can_device_access_peer(0, 1), lambda f: f.cuda.set_stream(None),
        lambda f: f.cuda.CUDAGraph(), lambda f: issubclass(f.cuda.OutOfMemoryError, RuntimeError),
        lambda f: f.cuda.OutOfMemoryError is f.OutOfMemoryError, lambda f: f.cuda.default_stream(),
        lambda f: f.cuda.set_per_process_memory_fraction(0.5),
        lambda f: f.backends.cudnn.is_available(), lambda f: f.backends.cudnn.version(),
        lambda f: f.backends.cudnn.enabled, lambda f: f.backends.cudnn.benchmark,
        lambda f: f.backends.cudnn.deterministic, lambda f: f.backends.cudnn.allow_tf32,
        lambda f: f.backends.cuda.is_built(), lambda f: f.backends.cuda.matmul.allow_tf32,
        lambda f: f.backends.cuda.flash_sdp_enabled(), lambda f: f.backends.mps.is_available(),
        lambda f: f.backends.mps.is_built(), lambda f: f.backends.openmp.is_available(),
        lambda f: f.backends.mkldnn.is_available(), lambda f: (f.version.cuda, f.version.hip),
    ],
)  # fmt: skip
def test_absent_devices(call):
    assert raised(call, mashal) == raised(call, torch)


def test_set_device_is_refused():
    with pytest.raises(AssertionError, match="CUDA"):
        mashal.cuda.set_device(0)


def test_switches():
    from mashal.backends import cuda, cudnn, mkldnn

    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    with mkldnn.flags(enabled=False):
        assert not mkldnn.enabled
    assert mkldnn.enabled
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
        assert cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_determinism():
    def run(f):
        seen = []
        try:
            seen.append(f.are_deterministic_algorithms_enabled())
            f.use_deterministic_algorithms(True)
            seen += [f.are_deterministic_algorithms_enabled(), f.get_deterministic_debug_mode()]
            f.use_deterministic_algorithms(True, warn_only=True)
            seen += [f.is_deterministic_algorithms_warn_only_enabled(), f.get_deterministic_debug_mode()]
            f.set_deterministic_debug_mode("error")
            seen.append(f.get_deterministic_debug_mode())
            seen.append(raised(lambda g: g.set_deterministic_debug_mode(7), f))
            seen.append(raised(lambda g: g.use_deterministic_algorithms(1), f))
        finally:
            f.use_deterministic_algorithms(False)
        return [*seen, f.get_deterministic_debug_mode()]

    assert run(mashal) == run(torch)


def test_matmul_precision():
    def run(f):
        try:
            seen = [f.get_float32_matmul_precision()]
            f.set_float32_matmul_precision("high")
            seen.append(f.get_float32_matmul_precision())
            with pytest.warns(UserWarning, match="great"):
                f.set_float32_matmul_precision("great")
            return [*seen, f.get_float32_matmul_precision()]
        finally:
            f.set_float32_matmul_precision("highest")

    assert run(mashal) == run(torch)
    mashal.backends.cuda.matmul.allow_tf32 = True
    assert mashal.get_float32_matmul_precision() == "high"
    mashal.backends.cuda.matmul.allow_tf32 = False
    assert mashal.get_float32_matmul_precision() == "highest"


def test_missing_names():
    for name in ("no_such_name", "distributed_checkpoint", "TYPE_CHECKING"):
        with pytest.raises(AttributeError, match=rf"'torch' has no attribute '{name}'.*docs/supported.md"):
            getattr(mashal, name)
    assert not hasattr(mashal, "quantum")
    assert "nn" in dir(mashal)


def test_every_listed_submodule_is_there():
    for name in dir(mashal):
        getattr(mashal, name)
