"""The package as a whole: what an import loads, types, documents, the example."""

import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import gobo_masks as gobo

FOLDER = pathlib.Path(__file__).parent.parent


def run(script, *arguments, **options):
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120, check=True, **options).stdout


def test_an_import_loads_little_and_starts_nothing():
    loaded = run(
        "import sys, threading; before = set(sys.modules); import gobo_masks;"
        "print(sorted(set(sys.modules) - before), threading.active_count())"
    )
    names = re.findall(r"'([^']+)'", loaded)
    assert set(names) <= {"gobo_masks", "gobo_masks._errors", "gobo_masks._native", "atexit"}, names
    assert loaded.endswith(" 1\n")


def test_a_worker_is_started_by_a_client_alone():
    ended = subprocess.run([sys.executable, "-m", "gobo_masks.worker"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "InvalidError" in ended.stderr


def test_every_public_name_is_documented():
    for name in gobo.__all__:
        if name == "__version__":
            continue
        thing = getattr(gobo, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{member}"
                    assert thing.__module__ == "gobo_masks"


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert gobo.__version__ == version("gobo-masks")


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy.stubtest")
    # The native module is private; its public names are those of the package.
    known = [r"gobo_masks\._native\..*"]
    # Adapters import their engines, which are not in this environment.
    known.append(r"gobo_masks\.(vllm|sglang|transformers)(\..*)?")
    if sys.version_info < (3, 12):
        # The buffer protocol has methods of Python from there on.
        known.append(r"gobo_masks\.Bitmask\.__buffer__")
    (tmp_path / "private").write_text("\n".join(known))
    arguments = ["gobo_masks", "--ignore-disjoint-bases", "--allowlist", "private", "--ignore-unused-allowlist"]
    ended = subprocess.run([sys.executable, "-m", "mypy.stubtest", *arguments], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_modules_are_typed(tmp_path):
    pytest.importorskip("mypy")
    own = ["_errors", "_schema", "_call", "_vocabulary", "_log", "_engines", "vllm._words"]
    arguments = [part for name in own for part in ("-m", f"gobo_masks.{name}")]
    ended = subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_example_runs(tmp_path):
    [example] = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)
    printed = run(example, env={**os.environ, "GOBO_STORE": str(tmp_path)})
    assert '"city"' in printed


def test_the_example_of_the_first_page_runs(tmp_path):
    page = FOLDER.parents[1] / "README.md"
    if not page.exists():
        pytest.skip("the package stands alone: there is no page above it")
    pattern, call = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    shown = "\nprint(matcher.forced(), matcher.is_completed())\n"
    printed = run(pattern + shown + call + shown, env={**os.environ, "GOBO_STORE": str(tmp_path)})
    assert printed.split("\n")[:2] == ["b'' False", "b'' True"]
