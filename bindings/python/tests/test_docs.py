"""Documentation examples run, and types and stubs match the package."""

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
from test_bodies import made

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  End Site
  {
    OFFSET 0 10 0
  }
}
MOTION
Frames: 3
Frame Time: 0.033333
0 90 0 0 0 0
0 91 1 5 0 0
0 90 2 9 0 0
"""

PACKAGE = REPOSITORY / "bindings" / "python"


def documented() -> Iterator[tuple[str, str]]:
    """Names and docstrings of the package and its public members."""
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
    Path("mocap").mkdir()
    Path("mocap/one.bvh").write_text(BVH)
    Path("smplh/male").mkdir(parents=True)
    np.savez("smplh/male/model.npz", **made(3))  # type: ignore[arg-type]
    turns = np.random.default_rng(5).normal(size=(6, 24 * 3)) / 5
    arrays = {"poses": turns, "trans": np.ones((6, 3)), "betas": [0.5], "mocap_framerate": 60.0}
    np.savez("walk.npz", **arrays)  # type: ignore[arg-type]
    known: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(block, known)


def python_of(page: Path) -> str:
    """The Python blocks of a page, which form one program."""
    return "\n".join(block.split("```")[0] for block in page.read_text().split("```python\n")[1:])


GUIDE = {page.stem: python_of(page) for page in sorted((REPOSITORY / "docs" / "guide").glob("*.md"))}


@pytest.mark.parametrize("name", [name for name, program in GUIDE.items() if program])
def test_the_guide_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("condyle-demo").mkdir()
    shutil.copy(REPOSITORY / "tools/condyle-cli/src/commands/demo/character.glb", "condyle-demo")
    jobs.run(jobs.Pack("condyle-demo", "packed"))
    shutil.move("packed/library.condyle", "motion.condyle")
    exec(GUIDE[name], {"__name__": "__main__"})


def test_the_dataset_of_the_readme_has_items_of_one_shape(tmp_path: Path) -> None:
    text = (PACKAGE / "README.md").read_text()
    [block] = [block for block in (part.split("```")[0] for part in text.split("```python\n")[1:]) if "class Windows" in block]
    known: dict[str, object] = {}
    exec(block, known)
    condyle.join(tmp_path / "two.condyle", [condyle.open(TESTDATA / f"{name}.glb").pack() for name in ("two_joints", "ancestors")])
    library = condyle.Library(tmp_path / "two.condyle")
    counts = {len(skeleton) for skeleton in library.skeletons}
    assert len(counts) == 2
    dataset = known["Windows"](tmp_path / "two.condyle")  # type: ignore[operator]
    items = [dataset[at] for at in range(len(dataset))]
    batch = np.stack([rotations for rotations, _ in items])
    times = np.arange(64) / 30
    assert batch.shape == (len(library), len(times), max(counts), 4) and {own for _, own in items} == counts
    for at, (_, own) in enumerate(items):
        clip = library[at]
        assert np.array_equal(batch[at, :, :own], clip.sample(clip.start + times).rotations)


def test_the_stub_has_the_documentation() -> None:
    done = subprocess.run([sys.executable, "stubs.py", "--check"], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["mypy", "--strict", "tests"], ["mypy.stubtest", "condyle"]], ids=["uses", "stubs"])
def test_types(arguments: list[str]) -> None:
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=PACKAGE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
