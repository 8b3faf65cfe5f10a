"""The examples in the documentation run, and the types are those of the package."""

from __future__ import annotations

import doctest
import importlib.metadata
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import condyle
import condyle.dask
import condyle.ray
import numpy as np
import pytest
from condyle import jobs
from conftest import REPOSITORY, TESTDATA

PACKAGE = REPOSITORY / "bindings" / "python"


def documented() -> Iterator[tuple[str, str]]:
    """Names and documentation of the package, and of all that it offers."""
    for module in (condyle, jobs, condyle.ray, condyle.dask):
        yield module.__name__, module.__doc__ or ""
    for name in jobs.__all__:
        yield f"jobs.{name}", getattr(jobs, name).__doc__ or ""
    for name in condyle.__all__:
        it = getattr(condyle, name)
        yield name, it.__doc__ or ""
        own = {key: value for key, value in vars(it).items() if not key.startswith("_")} if isinstance(it, type) else {}
        for key in own:
            if it not in (condyle.Poses, condyle.Vertices, condyle.Difference):
                yield f"{name}.{key}", getattr(it, key).__doc__ or ""


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("name", [name for name, text in DOCUMENTED.items() if ">>>" in text])
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    shutil.copy(TESTDATA / "two_joints.glb", tmp_path)
    (tmp_path / "motion.condyle").write_bytes(condyle.open(TESTDATA / "two_joints.glb").pack())
    monkeypatch.chdir(tmp_path)
    known = {"condyle": condyle, "np": np, "pathlib": pathlib, "pickle": pickle}
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name], known, name, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted > 0


def test_the_version_is_that_of_the_package() -> None:
    assert condyle.__version__ == importlib.metadata.version("condyle")


def test_everything_is_documented() -> None:
    assert [name for name, text in DOCUMENTED.items() if not text.strip()] == []


def test_the_readme_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (PACKAGE / "README.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert blocks
    monkeypatch.chdir(tmp_path)
    shutil.copy(TESTDATA / "two_joints.glb", "fox.glb")
    Path("motion.condyle").write_bytes(condyle.open("fox.glb").pack())
    for block in blocks:
        exec(block, {"__name__": "__main__"})


@pytest.mark.parametrize("arguments", [["mypy", "--strict", "tests"], ["mypy.stubtest", "condyle"]], ids=["uses", "stubs"])
def test_types(arguments: list[str]) -> None:
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=PACKAGE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
