"""Models from GitHub repositories or folders with a ``hubconf.py``, and files from URLs, kept in a cache.

The cache is PyTorch's (``$TORCH_HOME/hub``), so that nothing is downloaded twice.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import uuid
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ._alias import as_torch

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
# Trusted without a question, as by PyTorch.
_TRUSTED_REPO_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_hub_dir: str | None = None


# ---- progress ----


class _Bar:
    """What is used of tqdm, where tqdm is not installed: one line on the standard error."""

    def __init__(self, total: int | None = None, disable: bool = False, **_: Any) -> None:
        self.total, self.disable, self.n, self._shown = total, disable, 0, -1

    def update(self, n: int) -> None:
        """Counts ``n`` more; the line changes with each whole percent, or megabyte if the total is unknown."""
        self.n += n
        step = 100 * self.n // self.total if self.total else self.n >> 20
        if not self.disable and step != self._shown:
            self._shown = step
            sys.stderr.write(f"\r{step:3d} %" if self.total else f"\r{step} MiB")
            sys.stderr.flush()

    def close(self) -> None:
        """Ends the line."""
        if not self.disable and self.n:
            sys.stderr.write("\n")

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Bar


# ---- the cache ----


def _get_torch_home() -> str:
    """``$TORCH_HOME``, by default ``$XDG_CACHE_HOME/torch``, by default ``~/.cache/torch``."""
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of the cache: what :func:`set_dir` was told, else ``$TORCH_HOME/hub`` (``~/.cache/torch/hub``)."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of the cache for this process."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# ---- files ----


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads a file; ``dst`` appears only when it is complete and, if a hash is given, right.

    Args:
        url: http(s), ftp or ``file://``.
        dst: the path of the file.
        hash_prefix: what the SHA-256 of the contents must begin with, in hexadecimal.
        progress: show a bar on the standard error.

    Raises:
        RuntimeError: the hash is another one, or the connection ended early.
        URLError: the URL cannot be opened.
    """
    dst = os.path.expanduser(dst)
    partial = f"{dst}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
            length = source.headers.get("Content-Length")
            total = int(length) if length else None
            received = 0
            with (
                open(partial, "xb") as target,
                tqdm(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar,
            ):
                while chunk := source.read(READ_DATA_CHUNK):
                    target.write(chunk)
                    digest.update(chunk)
                    received += len(chunk)
                    bar.update(len(chunk))
        if total is not None and received < total and not source.headers.get("Content-Encoding"):
            raise RuntimeError(f"download_url_to_file: {url} ended after {received} of {total} bytes. Try again.")
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(partial, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """``mashal.load`` of the file at a URL, which is downloaded unless the cache has it. One zipped file is unpacked.

    Args:
        url: of the file.
        model_dir: where it is kept, default ``checkpoints`` in :func:`get_dir`.
        map_location: as in ``load``.
        progress: show a bar.
        check_hash: the file's name ends in ``-<SHA-256 or its first eight digits or more>.<extension>``; compare.
        file_name: its name in the cache, default that in the URL.
        weights_only: as in ``load``: True refuses files that hold anything but weights. Use it for files you do not
            trust.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        sys.stderr.write(f'Downloading: "{url}" to {cached}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, found.group(1) if found else None, progress=progress)
    import mashal

    if (inner := _zipped_file(cached)) is not None:
        warnings.warn(
            "Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile format "
            "introduced in 1.6. Please redo torch.save() to save it in the new zipfile format.",
            DeprecationWarning,
            stacklevel=2,
        )
        cached = _unpack(cached, inner, folder)
    return mashal.load(cached, map_location=map_location, weights_only=weights_only)  # type: ignore[no-any-return]


def _zipped_file(path: str) -> str | None:
    """The name of the only file of a zip archive; a checkpoint in zip format has several."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    return members[0].filename if len(members) == 1 and not members[0].is_dir() else None


def _unpack(path: str, member: str, folder: str) -> str:
    target = os.path.join(folder, os.path.basename(member))
    with zipfile.ZipFile(path) as archive, archive.open(member) as source:
        if not os.path.basename(member):
            raise RuntimeError(f"load_state_dict_from_url: {path} holds no file.")
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as unpacked:
            shutil.copyfileobj(source, unpacked)
    os.replace(unpacked.name, target)
    return target


# ---- repositories ----


def _parse_repo_info(github: str) -> tuple[str, str, str]:
    """Owner, name and ref of ``owner/name[:ref]``; without a ref, "main" or "master", whichever there is."""
    place, colon, ref = github.partition(":")
    parts = place.split("/")
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"hub: a repository must be given as owner/name[:ref], got '{github}'.")
    owner, name = parts
    if not colon:
        ref = _default_branch(owner, name)
    return owner, name, ref


def _default_branch(owner: str, name: str) -> str:
    try:
        with urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except URLError as error:
        # Without a network, what is in the cache serves.
        for branch in ("main", "master"):
            if os.path.exists(os.path.join(get_dir(), f"{owner}_{name}_{branch}")):
                return branch
        raise RuntimeError(
            f"It looks like there is no internet connection and the repo could not be found in the cache ({get_dir()})"
        ) from error


def _archive_url(owner: str, name: str, ref: str) -> str:
    return f"https://github.com/{owner}/{name}/zipball/{ref}"


def _validate_not_a_forked_repo(owner: str, name: str, ref: str) -> None:
    """Raises unless the ref is a branch, tag or commit of the repository itself: a fork's commits are reachable too."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token := os.environ.get(ENV_GITHUB_TOKEN):
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            with urlopen(Request(url, headers=headers)) as answer:
                entries = json.loads(answer.read().decode())
            if not entries:
                break
            for entry in entries:
                if entry["name"] == ref or entry["commit"]["sha"].startswith(ref):
                    return
    raise ValueError(
        f"Cannot find {ref} in https://github.com/{owner}/{name}. If it's a commit from a forked repo, please call "
        "hub.load() with forked repo directly."
    )


def _ask_for_trust(owner: str, name: str, trust_repo: bool | str) -> None:
    """Asks the user where needed, and keeps the answer. Raises: if the repository is not trusted."""
    path = os.path.join(get_dir(), "trusted_list")
    if not os.path.exists(path):
        Path(path).touch()
    key = f"{owner}_{name}"
    with open(path) as file:
        listed = key in (line.strip() for line in file)
    trusted = listed or owner in _TRUSTED_REPO_OWNERS
    if trust_repo is False or (trust_repo == "check" and not trusted):
        answer = input(
            f"The repository {owner}_{name} does not belong to the list of trusted repositories and as such cannot be "
            "downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        ).lower()
        if answer in ("y", "yes"):
            if listed:
                print("The repository is already trusted.")
        elif answer in ("", "n", "no"):
            raise Exception("Untrusted repository.")
        else:
            raise ValueError(f"Unrecognized response {answer}.")
    if not trusted:
        with open(path, "a") as file:
            file.write(f"{key}\n")


def _fetch_repository(
    github: str, force_reload: bool, trust_repo: bool | str, calling_fn: str, verbose: bool, skip_validation: bool
) -> str:
    """The folder of a repository in the cache, downloaded if it is not there."""
    if trust_repo not in ("check", True, False):
        raise ValueError(f"{calling_fn}: trust_repo must be 'check', True or False, got {trust_repo!r}.")
    hub_dir = get_dir()
    os.makedirs(hub_dir, exist_ok=True)
    owner, name, ref = _parse_repo_info(github)
    # A branch may contain slashes.
    folder = os.path.join(hub_dir, "_".join((owner, name, ref.replace("/", "_"))))
    _ask_for_trust(owner, name, trust_repo)
    if not force_reload and os.path.exists(folder):
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    if not skip_validation:
        _validate_not_a_forked_repo(owner, name, ref)
    url = _archive_url(owner, name, ref)
    sys.stderr.write(f'Downloading: "{url}" to {folder}.zip\n')
    with tempfile.TemporaryDirectory(dir=hub_dir) as scratch:
        archive = os.path.join(scratch, "repository.zip")
        try:
            download_url_to_file(url, archive, progress=False)
        except HTTPError as error:
            if error.code != 300:
                raise
            raise RuntimeError(
                f"hub: {ref} is both a branch and a tag of {owner}/{name}. Use refs/heads/{ref} or refs/tags/{ref}."
            ) from error
        unpacked = os.path.join(scratch, "unpacked")
        with zipfile.ZipFile(archive) as content:
            content.extractall(unpacked)
        tops = os.listdir(unpacked)
        if len(tops) != 1:
            raise RuntimeError(f"hub: the archive of {github} must hold one folder, got {sorted(tops)[:5]}.")
        if os.path.exists(folder):
            shutil.rmtree(folder)
        os.replace(os.path.join(unpacked, tops[0]), folder)
    return folder


@contextlib.contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The ``hubconf`` of a folder for a block, in which its modules are found and ``import torch`` is this package."""
    path = os.path.join(folder, MODULE_HUBCONF)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    sys.path.insert(0, folder)
    try:
        with as_torch():
            yield import_module("hubconf", path)
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def import_module(name: str, path: str) -> ModuleType:
    """Runs a file as a module that is not entered in ``sys.modules``."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"hub: {path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(module, VAR_DEPENDENCY, None) or ()
    absent = [package for package in needed if importlib.util.find_spec(package) is None]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    entry = getattr(module, model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
    verbose: bool = True,
) -> Any:
    """The names of the callables in a repository's ``hubconf.py``. Arguments as in :func:`load`."""
    folder = _fetch_repository(github, force_reload, trust_repo, "list", verbose, skip_validation)
    with _hubconf(folder) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
) -> Any:
    """The docstring of a callable in a repository's ``hubconf.py``. Arguments as in :func:`load`."""
    folder = _fetch_repository(github, force_reload, trust_repo, "help", verbose=True, skip_validation=skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What a callable of a ``hubconf.py`` returns: a model, usually. Its ``import torch`` gives mashal.

    Args:
        repo_or_dir: ``owner/name[:ref]`` on GitHub, or a folder.
        model: the name of the callable; ``args`` and ``kwargs`` are passed to it.
        source: "github" or "local".
        trust_repo: the repository's code will run: "check" asks unless it is known to be trusted, True does not ask and
            remembers it as trusted, False asks.
        force_reload: download even if the cache has it.
        verbose: say that the cache is used.
        skip_validation: do not ask GitHub whether the ref belongs to the repository itself.

    Raises:
        ValueError: for another source.
        RuntimeError: packages that the repository needs are missing, or the callable is.
        FileNotFoundError: there is no ``hubconf.py``.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _fetch_repository(repo_or_dir, force_reload, trust_repo, "load", verbose, skip_validation)
    return _load_local(repo_or_dir, model, *args, **kwargs)


def _load_local(hubconf_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    with _hubconf(os.fspath(hubconf_dir)) as module:
        return _entry(module, model)(*args, **kwargs)
