"""``python -m mashal``: programs run as by python, with torch answered by mashal."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest


def run(*args, cwd, input=None, flags=(), env=None):
    done = subprocess.run(
        [sys.executable, *flags, "-m", "mashal", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        input=input,
        env={**os.environ, **(env or {})},
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


SHOW = """
import sys
import torch, torch.nn.functional as F
from torch import nn
print(torch.__name__, torch.__version__.startswith("2.13"), __name__, sys.argv, sys.path[0])
print(__file__, __spec__ and __spec__.name, sys.modules["__main__"].SHOWN)
"""
SHOW = SHOW.replace("import sys\n", "import sys\nSHOWN = 1\n", 1)


def test_script(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nversion = torch.version.mashal")
    script = folder / "program.py"
    script.write_text(SHOW + "import helper\n")
    code, out, err = run("folder/program.py", "-x", "a b", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"mashal True __main__ ['folder/program.py', '-x', 'a b'] {folder}",
        f"{script} None 1",
    ]
    link = tmp_path / "link.py"
    link.symlink_to(script)
    assert run(link, cwd=tmp_path)[1].splitlines()[0].endswith(f" {folder}")
    # -P: no folder is put on the path.
    assert run(script, cwd=tmp_path, flags=["-P"])[0] == 1


def test_module_code_input_folder_and_archive(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(SHOW + "from . import __name__ as parent\nprint(parent)\n")
    (package / "__main__.py").write_text("print('main of', __package__)\nfrom . import part\n")
    code, out, err = run("-m", "package.part", "1", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"mashal True __main__ ['{package}/part.py', '1'] {tmp_path}",
        f"{package}/part.py package.part 1",
        "package",
    ]
    assert run("-mpackage", cwd=tmp_path)[1].startswith("main of package")
    out = run("-c", "import torch, sys; print(torch.__name__, sys.argv, repr(sys.path[0]))", "x", cwd=tmp_path)[1]
    assert out == "mashal ['-c', 'x'] ''\n"
    assert run("-", "x", cwd=tmp_path, input="import torch, sys; print(torch.ones(1), sys.argv)")[1] == (
        "tensor([1.]) ['-', 'x']\n"
    )
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import other, torch\nprint(other.x, torch.__name__)")
    (tmp_path / "app" / "other.py").write_text("x = 7")
    assert run("app", cwd=tmp_path)[1] == "7 mashal\n"
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        for name in ("__main__.py", "other.py"):
            archive.write(tmp_path / "app" / name, name)
    assert run("app.zip", cwd=tmp_path)[1] == "7 mashal\n"
    assert run("-m", "torch.utils.collect_env", cwd=tmp_path)[1].startswith("Collecting environment information")


def test_ends(tmp_path):
    (tmp_path / "fails.py").write_text("import torch\ndef f():\n    torch.ones(2) @ torch.ones(3)\nf()\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    code, out, err = run("fails.py", cwd=tmp_path)
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split(",")[1:] for line in lines if line.startswith("  File")] == [
        [" line 4", " in <module>"],
        [" line 3", " in f"],
    ]
    assert lines[-1].startswith("RuntimeError: ")
    code, _, err = run("syntax.py", cwd=tmp_path)
    assert code == 1
    assert err.splitlines()[0].startswith('  File "')
    assert err.endswith("SyntaxError: invalid syntax\n")
    assert run("-c", "import sys; sys.exit(3)", cwd=tmp_path)[0] == 3
    assert run("-c", "import sys; sys.exit('why')", cwd=tmp_path)[::2] == (1, "why\n")
    assert run("-c", "raise KeyboardInterrupt", cwd=tmp_path)[0] in (-2, 130)
    hook = "import sys; sys.excepthook = lambda t, e, tb: print('mine', tb.tb_lineno); import atexit;"
    out = run("-c", hook + "atexit.register(print, 'bye'); 1 / 0", cwd=tmp_path)[1]
    assert out == "mine 1\nbye\n"


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        ((), 2, "usage: python -m mashal SCRIPT"),
        (("absent.py",), 2, "can't open file"),
        (("-m", "no_such_module"), 1, "No module named no_such_module"),
        (("-m",), 2, "argument expected for the -m option"),
        (("--weird", "x.py"), 2, "unknown option --weird"),
        (("empty",), 1, "can't find '__main__' module"),
    ],
    ids=str,
)
def test_mistakes(tmp_path, args, code, text):
    (tmp_path / "empty").mkdir()
    got, out, err = run(*args, cwd=tmp_path)
    assert (got, out) == (code, "")
    assert text in err
    assert "Traceback" not in err


def test_help_and_version(tmp_path):
    assert run("--help", cwd=tmp_path)[:2] == (0, run(cwd=tmp_path)[2])
    assert run("--version", cwd=tmp_path)[1].startswith("mashal ")


PROCESSES = """
import multiprocessing as mp, pickle, subprocess, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        import torch
        assert torch.__name__ == "mashal"
        return torch.tensor(i * i), type(self).__module__

def work(queue, thing):
    import torch
    one = torch.nn.functional.relu(torch.ones(1)).item()
    queue.put((torch.__name__, str(torch.float32), type(thing).__name__, one))

if __name__ == "__main__":
    assert type(pickle.loads(pickle.dumps(Squares()))) is Squares
    for how in ("fork", "spawn", "forkserver"):
        context = mp.get_context(how)
        queue = context.Queue()
        process = context.Process(target=work, args=(queue, Squares()))
        process.start()
        print(how, *queue.get(timeout=60))
        process.join()
    print([x.tolist() for x, _ in DataLoader(Squares(), 2, num_workers=1)])
    other = "import sys; sys.modules.pop('torch', 0); import importlib.util as u; print('mashal' in sys.modules)"
    print(subprocess.run([sys.executable, "-c", other], capture_output=True, text=True).stdout.strip())
"""


def test_processes(tmp_path):
    (tmp_path / "program.py").write_text(PROCESSES)
    code, out, err = run("program.py", cwd=tmp_path)
    assert code == 0, err
    assert out.splitlines() == [
        *(f"{how} mashal torch.float32 Squares 1.0" for how in ("fork", "spawn", "forkserver")),
        "[[0, 1], [4, 9]]",
        "False",
    ]
    (tmp_path / "module.py").write_text(PROCESSES)
    assert run("-m", "module", cwd=tmp_path)[1] == out


def test_missing_names_say_where_the_list_is(tmp_path):
    program = """
import torch, importlib.util
for text in (
    "torch.no_such",
    "torch.nn.NoSuch",
    "torch.nn.functional.no_such",
    "torch.utils.data.no_such",
    "from torch import no_such",
    "from torch.nn import NoSuch",
    "import torch.no_such",
    "import torch.nn.no_such.deeper",
    "from torch.no_such import x",
):
    try:
        exec(text)
    except Exception as e:
        print(type(e).__name__, isinstance(e, (AttributeError, ImportError)), e)
assert not hasattr(torch, "no_such") and not hasattr(torch.nn, "NoSuch")
assert importlib.util.find_spec("torch.no_such") is None
torch.ones(1).no_such
"""
    code, out, err = run("-c", program, cwd=tmp_path)
    why = "mashal does not have it (yet), see docs/supported.md"
    assert out.splitlines() == [
        f"MissingNameError True module 'torch' has no attribute 'no_such': {why}",
        f"MissingNameError True module 'torch.nn' has no attribute 'NoSuch': {why}",
        f"MissingNameError True module 'torch.nn.functional' has no attribute 'no_such': {why}",
        f"MissingNameError True module 'torch.utils.data' has no attribute 'no_such': {why}",
        f"ImportError True cannot import name 'no_such' from 'torch': {why}",
        f"ImportError True cannot import name 'NoSuch' from 'torch.nn': {why}",
        f"ModuleNotFoundError True No module named 'torch.no_such': {why}",
        f"ModuleNotFoundError True No module named 'torch.nn.no_such': {why}",
        f"ModuleNotFoundError True No module named 'torch.no_such': {why}",
    ]
    assert code == 1
    assert err.endswith(f"\ntorch.Tensor.no_such: {why}\n")
