"""A short run of the fuzzer: every target a few times, with the same calls each time."""

from __future__ import annotations

from tests.fuzz.calls import draw, run
from tests.fuzz.driver import fuzz
from tests.fuzz.signatures import targets
from tests.fuzz.templates import TEMPLATES


def test_no_findings() -> None:
    calls = [(name, f"quick.{i}") for i in range(30) for name in targets()]
    found = fuzz(calls)
    assert not found, "\n" + "\n".join(map(str, found))


def test_calls_follow_from_their_seed() -> None:
    for target in list(targets().values())[::10]:
        assert repr(draw(target, "7")) == repr(draw(target, "7"))


def test_templates_name_targets() -> None:
    """A template for what is not there would never be used."""
    known = set(targets())
    short = {name.rsplit(".", 1)[-1] for name in known}
    assert [name for name in TEMPLATES if name not in known and name not in short] == []


def test_a_finding_is_reported(monkeypatch) -> None:
    """A wrong class of exception is told apart from a sane one."""
    target = targets()["add"]
    calls = [draw(target, str(i)) for i in range(50)]
    assert all(run(c) == "" for c in calls)

    def broken(*args, **kwargs):
        raise KeyError("key")

    object.__setattr__(calls[0], "fn", broken)
    assert run(calls[0]).startswith("KeyError")


def test_a_crash_is_survived_and_named() -> None:
    """The driver goes on behind a call that ends the process."""
    found = fuzz([("add", "0"), ("no such target", "0"), ("mul", "0")])
    assert [(f.name, f.kind) for f in found] == [("no such target", "crash")]
