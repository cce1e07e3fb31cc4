"""Small names that programs use: CUDA's and other devices', settings, low-rank factors, checkpoint policies."""

from __future__ import annotations

import importlib
import warnings

import pytest
import torch

import mashal


def call(lib, path, *args):
    owner = lib
    *parts, name = path.split(".")
    for part in parts:
        owner = getattr(owner, part)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(owner, name)(*args)
    except (RuntimeError, AssertionError) as e:
        return type(e)


@pytest.mark.parametrize(
    "path",
    """cuda.host_memory_stats cuda.memory_stats_as_nested_dict cuda.set_sync_debug_mode cuda.get_sync_debug_mode
    cuda.current_blas_handle cuda.caching_allocator_alloc cuda.get_per_process_memory_fraction cuda.nvtx.range_pop
    cuda.memory.memory_allocated cuda.random.get_rng_state_all cuda._is_in_bad_fork backends.cuda.is_ck_sdpa_available
    backends.cuda.is_flash_attention_available backends.cuda.fp16_bf16_reduction_math_sdp_allowed
    is_warn_always_enabled is_vulkan_available compiled_with_cxx11_abi get_num_interop_threads""".split(),
)
def test_answers_are_pytorchs(path):
    args = (1,) if path in ("cuda.set_sync_debug_mode", "cuda.caching_allocator_alloc") else ()
    assert call(mashal, path, *args) == call(torch, path, *args)


def test_cuda_names():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        mashal.cuda._sleep(1)
    with pytest.raises(RuntimeError, match="dummy base class graph"):
        mashal.cuda.graph(None)
    with pytest.raises(RuntimeError, match="NVTX"), mashal.cuda.nvtx.range("x"):
        pass
    mashal.cuda._lazy_call(lambda: 1 / 0)
    with mashal.cuda.StreamContext(None):
        pass
    params = mashal.backends.cuda.SDPAParams(*[mashal.ones(1)] * 3, None, 0.0, False, False)
    assert not mashal.backends.cuda.can_use_flash_attention(params)
    assert not mashal.backends.cuda.can_use_efficient_attention(params)
    mashal.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert mashal.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    mashal.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    with pytest.raises(RuntimeError):
        mashal.backends.cuda.preferred_blas_library("cublaslt")
    assert not mashal.backends.mps.is_macos_or_newer(13, 0)
    with mashal.backends.mkl.verbose(mashal.backends.mkl.VERBOSE_ON):
        pass
    assert mashal.cpu.get_capabilities()["architecture"]


def test_settings():
    assert mashal.get_device_module() is mashal.cpu
    assert mashal.get_device_module("cuda") is mashal.cuda
    with pytest.raises(RuntimeError, match="Invalid device module 'meta'"):
        mashal.get_device_module("meta")
    mashal.set_warn_always(True)
    assert mashal.is_warn_always_enabled()
    mashal.set_warn_always(False)
    assert mashal.set_flush_denormal(False) is False
    mashal.set_num_interop_threads(3)
    assert mashal.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="positive"):
        mashal.set_num_interop_threads(0)
    mashal._settings._process["interop_threads"] = 0
    assert mashal.legacy_contiguous_format is mashal.contiguous_format


def test_streams_and_events():
    with mashal.Stream() as stream:
        event = stream.record_event(mashal.Event(enable_timing=True))
        stream.wait_event(event)
        stream.wait_stream(stream)
    end = mashal.Event(enable_timing=True)
    end.record()
    end.synchronize()
    assert event.query()
    assert stream.query()
    assert event.elapsed_time(end) >= 0
    assert event.device == mashal.device("cpu")
    with pytest.raises(ValueError, match="enable_timing"):
        event.elapsed_time(mashal.Event())
    with pytest.raises(RuntimeError, match="cuda"):
        mashal.Stream("cuda")


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (2, 6, 4)])
@pytest.mark.parametrize("name", ["svd_lowrank", "svd_lowrank M", "pca_lowrank"])
def test_low_rank(shape, name):
    name, _, shifted = name.partition(" ")
    results = []
    for lib in (torch, mashal):
        lib.manual_seed(0)
        A = lib.randn(*shape, dtype=lib.float64)
        args = (A, 3, 2, A.mean(-2, keepdim=True)) if shifted else (A, 3)
        U, S, V = getattr(lib, name)(*args)
        results.append(((U * S.unsqueeze(-2)) @ V.mH, S, U.shape, V.shape))
    for theirs, ours in zip(*results, strict=True):
        if isinstance(ours, mashal.Tensor):
            assert mashal.allclose(ours, mashal.tensor(theirs.tolist(), dtype=mashal.float64), atol=1e-10)
        else:
            assert tuple(ours) == tuple(theirs)


def test_low_rank_mistakes():
    with pytest.raises(ValueError, match=r"q\(=9\)"):
        mashal.pca_lowrank(mashal.ones(3, 4), q=9)
    with pytest.raises(ValueError, match="niter"):
        mashal.pca_lowrank(mashal.ones(3, 4), niter=-1)


def test_checkpoint_policies():
    from functools import partial

    c = mashal.utils.checkpoint
    contexts = partial(c.create_selective_checkpoint_contexts, lambda ctx, op, *a: c.CheckpointPolicy.MUST_SAVE)
    x = mashal.rand(3, requires_grad=True)
    c.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    want = x.detach().clone().requires_grad_()
    want.exp().sin().sum().backward()
    assert mashal.equal(x.grad, want.grad)
    with pytest.raises(TypeError):
        c.create_selective_checkpoint_contexts(3)
    assert c.get_device_states(x) == ([], [])
    assert [p.name for p in c.CheckpointPolicy] == [p.name for p in torch.utils.checkpoint.CheckpointPolicy]


def test_other_modules():
    assert mashal.functional.einsum is mashal.einsum
    from mashal._jit_internal import Final, List, boolean_dispatch

    assert Final is not None
    assert List is not None
    pick = boolean_dispatch("flag", 1, False, lambda x, flag=False: "yes", lambda x, flag=False: "no", "m", "pick")
    assert (pick(1), pick(1, True), pick(1, flag=True), pick.__name__) == ("no", "yes", "yes", "pick")
    assert importlib.import_module("mashal.utils._contextlib")._DecoratorContextManager


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storage_classes():
    assert mashal.FloatStorage(3).dtype is mashal.float32
    assert mashal.LongStorage([1, 2]).tolist() == [1, 2]
    assert isinstance(mashal.ones(1).storage(), mashal.FloatStorage)
    assert not isinstance(mashal.ones(1).storage(), mashal.DoubleStorage)
    assert mashal.Storage is mashal.FloatStorage
    assert mashal.ByteTensor(mashal.ByteStorage.from_buffer(b"\x01\x02")).tolist() == [1, 2]
    assert mashal.FloatStorage.from_buffer(b"\x3f\x80\0\0" * 2, "big", count=1).tolist() == [1.0]
    assert mashal.ComplexFloatStorage.from_buffer(b"\x3f\x80\0\0\xbf\x80\0\0", "big").tolist() == [1 - 1j]
    assert mashal.ShortStorage.from_buffer(b"").size() == 0
    with pytest.raises(ValueError, match="whole elements"):
        mashal.ShortStorage.from_buffer(b"123")
    with pytest.raises(ValueError, match="byte_order"):
        mashal.ShortStorage.from_buffer(b"12", "middle")
    names = [n for n in dir(torch) if n.endswith("Storage") and not n.startswith(("Q", "Typed", "Untyped", "_"))]
    assert [n for n in names if not hasattr(mashal, n)] == []


def test_overrides():
    o = mashal.overrides

    class Box:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    @o.wrap_torch_function(lambda x, y: (x, y))
    def both(x, y):
        return "plain"

    assert both(1, 2) == "plain"
    assert both(1, Box()) == ("both", 2)
    assert o.has_torch_function_unary(Box())
    assert not o.has_torch_function_variadic(1, mashal.ones(1))
    for ours, theirs in (
        (mashal.add, torch.add),
        (mashal.Tensor.add, torch.Tensor.add),
        (mashal.nn.functional.cross_entropy, torch.nn.functional.cross_entropy),
        (mashal.linalg.norm, torch.linalg.norm),
        (len, len),
    ):
        assert o.resolve_name(ours) == torch.overrides.resolve_name(theirs)
    assert o.is_tensor_method_or_property(mashal.Tensor.add)
    assert not o.is_tensor_method_or_property(mashal.add)
    functions = o.get_overridable_functions()
    assert mashal.matmul in functions[mashal]
    assert mashal.Tensor.matmul in functions[mashal.Tensor]
    with o.enable_reentrant_dispatch():
        pass


@pytest.mark.parametrize("lib", [torch, mashal], ids=["torch", "mashal"])
def test_multithreading_switch(lib):
    a = lib.autograd
    assert lib is torch or a.is_multithreading_enabled()
    with a.set_multithreading_enabled(False):
        assert lib is torch or not a.is_multithreading_enabled()
        x = lib.ones(1, requires_grad=True)
        (x * 2).sum().backward()
    assert x.grad.item() == 2
    assert lib is torch or a.is_multithreading_enabled()
