"""mashal.hub against file URLs and a repository archive made here; no network."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mashal
from mashal import hub

HUBCONF = '''
"""Entry points."""
dependencies = ["numpy"]

from parts.model import make

def net(width=2, bias=True):
    """A linear layer of a width."""
    return make(width, bias)

def _private():
    pass
'''


def repository(folder: Path) -> Path:
    (folder / "parts").mkdir(parents=True)
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "parts" / "__init__.py").write_text("")
    (folder / "parts" / "model.py").write_text(
        "import torch.nn as nn\ndef make(width, bias):\n    return nn.Linear(width, 1, bias=bias)\n"
    )
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TORCH_HUB", raising=False)
    # as_torch refuses where PyTorch is loaded, which other tests of this process may have done; the repositories here
    # have a module named parts.
    saved = {n: sys.modules.pop(n) for n in list(sys.modules) if n.partition(".")[0] in ("torch", "parts")}
    yield
    for name in [n for n in sys.modules if n.partition(".")[0] == "parts"]:
        del sys.modules[name]
    sys.modules.update(saved)


def test_dirs(tmp_path, monkeypatch):
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/torch/hub"
    hub.set_dir("~/x")
    assert hub.get_dir() == os.path.expanduser("~/x")
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HUB", "1")
    with pytest.warns(UserWarning, match="TORCH_HUB is deprecated"):
        hub.get_dir()


def test_download(tmp_path, capsys):
    data = os.urandom(300_000)
    source = tmp_path / "source.bin"
    source.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    target = tmp_path / "target.bin"
    hub.download_url_to_file(source.as_uri(), str(target), hash_prefix=digest[:8], progress=False)
    assert target.read_bytes() == data
    assert capsys.readouterr().err == ""
    hub.download_url_to_file(source.as_uri(), str(target))
    assert "100%" in capsys.readouterr().err
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError, match=f'invalid hash value \\(expected "00000000", got "{digest}"'):
        hub.download_url_to_file(source.as_uri(), str(target), hash_prefix="00000000", progress=False)
    assert target.read_bytes() == b"old"
    with pytest.raises(OSError):
        hub.download_url_to_file((tmp_path / "absent").as_uri(), str(target), progress=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source.bin", "target.bin"]


def test_connection_that_ends_early(tmp_path, monkeypatch):
    class Answer(io.BytesIO):
        def __init__(self):
            super().__init__(b"12345")
            self.headers = {"Content-Length": "10"}

    monkeypatch.setattr(hub, "urlopen", lambda request: Answer())
    with pytest.raises(RuntimeError, match="ended after 5 of 10 bytes"):
        hub.download_url_to_file("http://host/file", str(tmp_path / "file"), progress=False)
    assert not list(tmp_path.iterdir())


def test_own_bar(capsys):
    with hub._Bar(total=4) as bar:
        bar.update(1)
        bar.update(3)
    assert capsys.readouterr().err == "\r 25 %\r100 %\n"
    with hub._Bar(disable=True) as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""


def state_file(folder: Path) -> tuple[Path, dict]:
    state = {"w": mashal.arange(6.0).view(2, 3), "step": 3}
    mashal.save(state, folder / "plain.pt")
    digest = hashlib.sha256((folder / "plain.pt").read_bytes()).hexdigest()
    return (folder / "plain.pt").rename(folder / f"net-{digest[:8]}.pt"), state


@pytest.mark.skipif(not hasattr(mashal, "save"), reason="needs checkpoints")
def test_state_dict(tmp_path, capsys):
    path, state = state_file(tmp_path)
    got = hub.load_state_dict_from_url(path.as_uri(), progress=False, check_hash=True)
    assert got["step"] == 3
    assert mashal.equal(got["w"], state["w"])
    assert (Path(hub.get_dir()) / "checkpoints" / path.name).exists()
    assert capsys.readouterr().err.startswith("Downloading: ")
    path.unlink()  # the cache serves
    hub.load_state_dict_from_url(path.as_uri(), progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(OSError):
        hub.load_state_dict_from_url(path.as_uri(), model_dir=str(tmp_path / "other"), progress=False)
    from mashal.utils import model_zoo

    assert model_zoo.load_url is hub.load_state_dict_from_url


@pytest.mark.skipif(not hasattr(mashal, "save"), reason="needs checkpoints")
def test_state_dict_with_wrong_hash_and_in_a_zip(tmp_path):
    path, _ = state_file(tmp_path)
    wrong = path.rename(tmp_path / "net-00000000.pt")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(wrong.as_uri(), progress=False, check_hash=True)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.write(wrong, "../inner.pt")  # only the last part of the name counts
    with pytest.warns(DeprecationWarning, match="old format"):
        got = hub.load_state_dict_from_url(
            (tmp_path / "packed.zip").as_uri(), progress=False, file_name="packed.zip", weights_only=True
        )
    assert got["step"] == 3
    assert (Path(hub.get_dir()) / "checkpoints" / "inner.pt").exists()


def test_local(tmp_path):
    folder = repository(tmp_path / "repo")
    before = list(sys.path)
    net = hub.load(str(folder), "net", 5, source="local", bias=False)
    assert isinstance(net, mashal.nn.Linear)
    assert net.in_features == 5
    assert net.bias is None
    assert sys.path == before
    assert "torch" not in sys.modules
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(str(folder), "other", source="local")
    with pytest.raises(ValueError, match="model should be a string"):
        hub.load(str(folder), 3, source="local")
    with pytest.raises(ValueError, match='Unknown source: "ftp"'):
        hub.load(str(folder), "net", source="ftp")
    with pytest.raises(FileNotFoundError):
        hub.load(str(tmp_path), "net", source="local")
    (folder / "hubconf.py").write_text(HUBCONF.replace('["numpy"]', '["numpy", "no_such_package"]'))
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(str(folder), "net", source="local")


@pytest.fixture
def github(tmp_path, monkeypatch):
    """A repository as GitHub packs it."""
    folder = repository(tmp_path / "work" / "owner-name-1234567")
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as content:
        for path in sorted(folder.rglob("*")):
            content.write(path, path.relative_to(tmp_path / "work"))
    monkeypatch.setattr(hub, "_archive_url", lambda *place: archive.as_uri())
    monkeypatch.setattr(hub, "_validate_not_a_forked_repo", lambda *place: None)
    return archive


def test_github(github, monkeypatch, capsys):
    asked = []

    def answer(text):
        def ask(question):
            asked.append(question)
            return text

        monkeypatch.setattr("builtins.input", ask)

    answer("n")
    with pytest.raises(Exception, match=r"Untrusted repository\."):
        hub.load("owner/name:v1", "net")
    answer("perhaps")
    with pytest.raises(ValueError, match="Unrecognized response perhaps"):
        hub.load("owner/name:v1", "net")
    answer("y")
    assert hub.load("owner/name:v1", "net").in_features == 2
    assert len(asked) == 3
    assert "owner_name" in asked[0]
    assert (Path(hub.get_dir()) / "trusted_list").read_text() == "owner_name\n"
    assert (Path(hub.get_dir()) / "owner_name_v1" / "hubconf.py").exists()
    # From the cache, without a question.
    github.unlink()
    capsys.readouterr()
    assert hub.list("owner/name:v1") == ["make", "net"]
    assert "Using cache found in" in capsys.readouterr().err
    assert hub.help("owner/name:v1", "net") == "A linear layer of a width."
    assert len(asked) == 3
    with pytest.raises(OSError):
        hub.load("owner/name:v1", "net", force_reload=True)
    with pytest.raises(Exception, match="Untrusted"):
        answer("")
        hub.load("owner/name:v1", "net", trust_repo=False)


def test_github_places(github, monkeypatch):
    assert hub.load("owner/name:feature/x", "net", trust_repo=True, verbose=False).out_features == 1
    assert (Path(hub.get_dir()) / "owner_name_feature_x").is_dir()
    with pytest.raises(ValueError, match=r"owner/name\[:ref\]"):
        hub.load("name", "net")
    with pytest.raises(ValueError, match="trust_repo must be"):
        hub.load("owner/name:v1", "net", trust_repo="maybe")

    def offline(*_):
        raise hub.URLError("no network")

    monkeypatch.setattr(hub, "urlopen", offline)
    with pytest.raises(RuntimeError, match="no internet connection"):
        hub.load("owner/name", "net", trust_repo=True)
    (Path(hub.get_dir()) / "owner_name_feature_x").rename(Path(hub.get_dir()) / "owner_name_master")
    assert hub.load("owner/name", "net", trust_repo=True).out_features == 1


def test_forks_are_told_apart(monkeypatch):
    pages = {"branches": [{"name": "main", "commit": {"sha": "abc123"}}], "tags": []}

    def answer(request):
        kind = request.full_url.split("/")[-1].split("?")[0]
        first = request.full_url.endswith("page=1")
        return io.BytesIO(str(pages[kind] if first else []).replace("'", '"').encode())

    monkeypatch.setattr(hub, "urlopen", answer)
    hub._validate_not_a_forked_repo("owner", "name", "main")
    hub._validate_not_a_forked_repo("owner", "name", "abc1")
    with pytest.raises(ValueError, match="forked repo"):
        hub._validate_not_a_forked_repo("owner", "name", "fff")


def test_refused_where_pytorch_is_loaded(tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    folder = repository(tmp_path / "repo")
    program = f"import torch, mashal\nmashal.hub.load({str(folder)!r}, 'net', source='local')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "as_torch: PyTorch must not have been imported" in done.stderr
