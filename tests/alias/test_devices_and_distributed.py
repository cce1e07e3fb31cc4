"""Devices and processes that are not here: queries answer as PyTorch's CPU build, the rest raises."""

from __future__ import annotations

import importlib
import warnings

import pytest
import torch

import mashal

QUERIES = {
    "accelerator": "is_available device_count current_accelerator",
    "xpu": """is_available device_count is_initialized is_bf16_supported is_tf32_supported get_arch_list
        get_gencode_flags memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats
        memory_snapshot memory_stats_as_nested_dict empty_cache seed seed_all get_rng_state_all init current_device
        get_device_name get_device_capability get_device_properties synchronize current_stream mem_get_info initial_seed
        get_rng_state get_per_process_memory_fraction Stream Event XPUGraph MemPool""",
    "mps": "is_available device_count synchronize empty_cache seed current_allocated_memory recommended_max_memory",
    "mtia": """is_available device_count is_initialized is_bf16_supported memory_stats memory_allocated
        max_memory_allocated reset_peak_memory_stats record_memory_history seed seed_all get_rng_state_all init
        initial_seed get_rng_state synchronize current_device current_stream default_stream get_device_capability
        snapshot empty_cache graph_pool_handle""",
    "cpu": "is_available is_initialized device_count current_device synchronize",
    "backends.cuda": "is_built",
    "backends.cpu": "get_cpu_capability",
    "backends.mps": "is_available is_built",
    "distributed": "is_initialized is_nccl_available is_mpi_available is_ucc_available is_xccl_available",
}


def answer(lib, path, name):
    owner = lib
    for part in path.split("."):
        owner = getattr(owner, part)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(owner, name)()
    except (RuntimeError, AssertionError) as e:
        return type(e)


@pytest.mark.parametrize(("path", "name"), [(p, n) for p, names in QUERIES.items() for n in names.split()])
def test_answers_are_pytorchs(path, name):
    ours, theirs = answer(mashal, path, name), answer(torch, path, name)
    if path == "cpu" and not isinstance(theirs, (int, str, type(None))):
        assert type(ours).__name__ == type(theirs).__name__
    else:
        assert ours == theirs


def test_answers_are_copies():
    mashal.xpu.memory_stats()["a"] = 1
    assert mashal.xpu.memory_stats() == {}


def test_blocks_and_seeds():
    for module in (mashal.xpu, mashal.mtia):
        module.manual_seed(1)
        module.manual_seed_all(1)
        module.set_device(-1)
        with module.device(None), module.device(-1), module.stream(None):
            pass
        with pytest.raises((RuntimeError, AssertionError)), module.device(0):
            pass
        with pytest.raises((RuntimeError, AssertionError)):
            module.set_device(0)
    mashal.xpu.set_stream(None)
    with mashal.xpu.device_of(mashal.ones(1)), mashal.accelerator.device_index(None):
        pass
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        mashal.ones(1).cuda()


def test_distributed_is_one_process(monkeypatch):
    d = mashal.distributed
    assert not d.is_available()
    assert (d.get_rank(), d.get_world_size()) == (0, 1)
    assert d.group.WORLD is None
    assert d.ReduceOp.SUM != d.ReduceOp.MAX
    assert d.Backend("NCCL") == d.Backend.NCCL == "nccl"
    assert issubclass(d.DistBackendError, RuntimeError)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert d.get_node_local_rank(0) == 0
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        d.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert d.get_node_local_rank() == 2
    with pytest.raises(RuntimeError, match=r"init_process_group: mashal does not run on several processes.*'gloo'"):
        d.init_process_group("gloo", rank=0, world_size=1)
    for name in ("all_reduce", "barrier", "broadcast", "all_gather", "get_backend", "new_group"):
        with pytest.raises(ValueError, match=rf"distributed\.{name}: the default process group has not been"):
            getattr(d, name)(mashal.ones(1))
    with pytest.raises(ModuleNotFoundError, match=r"docs/supported\.md"):
        importlib.import_module("mashal.distributed.fsdp")
    with pytest.raises(ImportError, match=r"cannot import name 'DeviceMesh' from 'torch\.distributed'"):
        from mashal.distributed import DeviceMesh  # noqa: F401


def test_core_names():
    from mashal import _C

    assert _C._log_api_usage_once("x") is None
    assert _C._get_tracing_state() is None
    assert _C._nn._parse_to("cpu", mashal.float64) == (mashal.device("cpu"), mashal.float64, False, None)
    assert _C._nn._parse_to(mashal.float64, non_blocking=True)[1:3] == (mashal.float64, True)
    assert isinstance(mashal.Tensor, _C._TensorMeta)
    assert issubclass(_C._LinAlgError, RuntimeError)
    assert _C._jit_set_profiling_mode(False) is False
    assert _C._get_privateuse1_backend_name() == torch._C._get_privateuse1_backend_name()


def test_symbolic_names():
    for name, args in {
        "sym_max": (1, 2.0), "sym_min": (1, 2.0), "sym_int": (2.7,), "sym_float": (2,), "sym_not": (True,),
        "sym_sum": ([1, 2],), "sym_ite": (True, 1, 2),
    }.items():  # fmt: skip
        ours, theirs = getattr(mashal, name)(*args), getattr(torch, name)(*args)
        assert (ours, type(ours)) == (theirs, type(theirs)), name
    mashal._check(True)
    for name in ("_check", "_check_value", "_check_type", "_check_index", "_check_not_implemented"):
        caught = []
        for lib in (mashal, torch):
            with pytest.raises(Exception, match=r"^text$") as e:
                getattr(lib, name)(False, lambda: "text")
            caught.append(e.type)
        assert caught[0] is caught[1]
    with pytest.raises(TypeError, match="cond must be a bool"):
        mashal._check(1)
    mashal._check_is_size(3, max=3)
    with pytest.raises(RuntimeError):
        mashal._check_is_size(-1)
    assert not isinstance(1, mashal.SymInt)
    assert isinstance(1, mashal.types.IntLikeType)


def test_distributed_data_parallel_can_be_imported():  # unguarded at the top of many programs
    from mashal.nn.parallel import DistributedDataParallel

    with pytest.raises(RuntimeError, match="DistributedDataParallel: mashal does not run on several processes"):
        DistributedDataParallel(mashal.nn.Linear(1, 1))
    assert not isinstance(mashal.nn.Linear(1, 1), DistributedDataParallel)


@pytest.mark.parametrize("module", ["pixelshuffle", "channelshuffle", "flatten", "fold"])
def test_modules_of_layers(module):
    ours = importlib.import_module(f"mashal.nn.modules.{module}")
    theirs = importlib.import_module(f"torch.nn.modules.{module}")
    assert sorted(ours.__all__) == sorted(theirs.__all__)
