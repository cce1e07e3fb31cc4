"""Moving values between mashal and torch, and comparing them."""

import warnings

import numpy as np
import torch

import mashal


def to_torch(t):
    """A torch tensor with the values of a mashal one."""
    t = t.detach()
    if t.dtype == mashal.bfloat16:
        return torch.from_numpy(t.float().numpy().copy()).bfloat16()
    return torch.from_numpy(np.array(t.numpy()))


def to_mashal(t, requires_grad=False):
    """A mashal tensor with the values of a torch one."""
    return mashal.from_numpy(t.detach().numpy().copy()).requires_grad_(requires_grad)


def convert(value, requires_grad=False):
    """Arguments of a torch call as arguments of the same mashal call."""
    if isinstance(value, torch.Tensor):
        return to_mashal(value, requires_grad=requires_grad and value.requires_grad)
    if isinstance(value, torch.dtype):
        return getattr(mashal, str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        return type(value)(convert(v, requires_grad) for v in value)
    if isinstance(value, dict):
        return {k: convert(v, requires_grad) for k, v in value.items()}
    return value


def seed(value=0):
    mashal.manual_seed(value)
    torch.manual_seed(value)


def assert_close(ours, theirs, rtol=1.3e-6, atol=1e-5):
    """Values, shapes and dtypes; tuples element by element. The default tolerances are torch's for float32."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_close(a, b, rtol, atol)
        return
    assert isinstance(ours, mashal.Tensor)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    torch.testing.assert_close(to_torch(ours), theirs.detach(), rtol=rtol, atol=atol, equal_nan=True)


def outcome(call):
    """("value", result) or ("error", names of the class and its bases, message), and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("value", call())
        except Exception as err:  # noqa: BLE001 (the class is what is compared)
            result = ("error", [c.__name__ for c in type(err).__mro__], str(err))
    return result, [(w.category.__name__, str(w.message)) for w in caught]


def assert_same_outcome(ours, theirs, message=True, closeness=None):
    """Both return the same, or ours raises what catches as torch's class (and, unless told otherwise, its text)."""
    a, a_warnings = outcome(ours)
    b, b_warnings = outcome(theirs)
    assert a[0] == b[0], f"{a} and {b}"
    if a[0] == "error":
        assert b[1][0] in a[1], f"{a} and {b}"
        if message:
            assert a[2] == b[2]
    elif isinstance(b[1], torch.Tensor | tuple | list):
        assert_close(a[1], b[1], **(closeness or {}))
    assert [w[0] for w in a_warnings] == [w[0] for w in b_warnings]
