"""Posed meshes match the results of independent programs, described in testdata/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import condyle
import numpy as np
import pytest
from conftest import MODELS

CASES = [pytest.param(path, id=path.name) for path in MODELS]


class Answers:
    """A model and its reference results."""

    def __init__(self, path: Path) -> None:
        self.model = condyle.open(path)
        self.manifest: dict[str, Any] = json.loads(path.with_suffix(".ref.json").read_text())
        self.data = path.with_suffix(".ref.bin").read_bytes()

    def floats(self, offset: int, *shape: int) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.data, "<f4", int(np.prod(shape)), offset).reshape(shape)

    def slices(self) -> list[condyle.Primitive]:
        """Primitives of the reference results, in their order."""
        all_ = {(it.node, it.index): it for it in self.model.primitives}
        return [all_[prim["node"], prim["prim"]] for prim in self.manifest["prims"]]


@pytest.mark.parametrize("path", CASES)
def test_positions_and_joints(path: Path) -> None:
    answers = Answers(path)
    model, diagonal = answers.model, answers.manifest["bbox_diag"]
    slices = answers.slices()
    assert [len(it) for it in slices] == [prim["verts"] for prim in answers.manifest["prims"]]
    vertices = sum(map(len, slices))
    for case in answers.manifest["cases"]:
        clip = None if case["clip"] < 0 else case["clip"]
        posed = model.skin(clip, [case["t"]])[0]
        posed = np.concatenate([posed[it.slice] for it in slices])
        # The result must match one of the stored interpretations of the specification.
        errors = [np.abs(posed - answers.floats(at, vertices, 3)).max() for at in case["pos"].values()]
        bound = min(answers.manifest["tol_pos"], 2e-6)
        assert min(errors) <= bound * diagonal, f"case {case['id']}: {min(errors)}"


@pytest.mark.parametrize("path", CASES)
def test_normals(path: Path) -> None:
    answers = Answers(path)
    slices = answers.slices()
    with_normals = [it for it, prim in zip(slices, answers.manifest["prims"]) if prim["normals"]]
    count = sum(map(len, with_normals))
    for case in answers.manifest["cases"]:
        stored = case.get("nrm") or {}
        # Normals use the inverse transpose of each joint's matrix: result C, which is omitted if it equals A.
        offset = stored.get("C", stored.get("A"))
        if offset is None or not count:
            continue
        clip = None if case["clip"] < 0 else case["clip"]
        posed = answers.model.skin(clip, [case["t"]], normals=True)
        assert posed.normals is not None and posed.tangents is None
        got = np.concatenate([posed.normals[0, it.slice] for it in with_normals]).astype("f8")
        want = np.frombuffer(answers.data, "<i2", 3 * count, offset).reshape(-1, 3) / 32767.0
        angles = np.degrees(np.arctan2(np.linalg.norm(np.cross(got, want), axis=1), (got * want).sum(axis=1)))
        assert angles.max() <= answers.manifest["tol_nrm_deg"], f"case {case['id']}: {angles.max()} degrees"
        without = [it for it in answers.model.primitives if not it.has_normals]
        assert all(not posed.normals[0, it.slice].any() for it in without)


@pytest.mark.parametrize("path", CASES)
def test_any_number_of_threads_gives_the_same_bits(path: Path) -> None:
    model = condyle.open(path)
    clip = 0 if model.clips else None
    times = np.linspace(0, model.clips[0].end if model.clips else 0, 7)
    one = model.skin(clip, times, normals=True, tangents=True)
    many = model.skin(clip, times, normals=True, tangents=True, threads=3)
    for a, b in zip(one, many):
        assert a is not None and b is not None and a.tobytes() == b.tobytes()
    assert model.skin(clip, times).tobytes() == one.positions.tobytes()
    assert model.matrices(clip, times).tobytes() == model.matrices(clip, times, threads=None).tobytes()
    assert np.array_equal(model.matrices(clip, times)[..., 3], model.joints(clip, times, threads=2))
    if model.clips:
        for a, b in zip(model.clips[0].sample(times), model.clips[0].sample(times, threads=4)):
            assert a.tobytes() == b.tobytes()
