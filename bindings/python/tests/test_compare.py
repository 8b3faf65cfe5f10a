"""`compare` returns the distances between skinned vertices."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import condyle
import numpy as np
import pytest
from conftest import TESTDATA
from test_progress import Bar


def stepping(path: Path) -> condyle.Model:
    """A model whose keys use step interpolation."""
    data = path.read_bytes()
    end = 20 + struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20:end])
    for animation in document["animations"]:
        for sampler in animation["samplers"]:
            if sampler.get("interpolation", "LINEAR") == "LINEAR":
                sampler["interpolation"] = "STEP"
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(data) - end, len(text), 0x4E4F534A)
    return condyle.from_bytes(head + text + data[end:], "stepping")


MODEL = condyle.open(TESTDATA / "two_joints.glb")
STEPPING = stepping(TESTDATA / "two_joints.glb")
ANIMATED = [path for path in sorted(TESTDATA.glob("*.glb")) if condyle.open(path).clips]


@pytest.mark.parametrize("path", ANIMATED, ids=lambda path: str(path.stem))
def test_distances_are_those_of_vertices(path: Path) -> None:
    model, other = condyle.open(path), stepping(path)
    found = condyle.compare(model, other)
    assert [it.name for it in found] == [clip.name for clip in model.clips]
    # Cubic keys are unchanged, so their distance may be 0.
    assert max(it.worst for it in found) > 0.01
    for clip, it in enumerate(found):
        assert (it.times[0], it.times[-1]) == (model.clips[clip].start, model.clips[clip].end)
        ours, theirs = (side.skin(clip, it.times).astype(float) for side in (model, other))
        apart = np.linalg.norm(ours - theirs, axis=-1)
        close = 2e-6 * np.abs(ours).max()
        assert np.abs(it.distances - apart.max(axis=1)).max() <= close
        assert it.worst == it.distances.max()
        assert abs(it.mean_of_max - apart.max(axis=1).mean()) <= close
        assert abs(it.percentile_99 - np.percentile(apart, 99, method="inverted_cdf")) <= close + it.worst / 2048
        assert (it.paired, it.pairs, it.unpaired) == ("order", model.vertex_count, (0, 0))
        place, [at] = it.where, np.flatnonzero(it.times == it.where.seconds)
        assert place.joint is None and place.vertex is not None
        named = [one for one in model.primitives if (one.name, one.index) == (place.mesh, place.primitive)]
        assert max(apart[at, one.start + place.vertex] for one in named) >= apart.max() - close


def test_other_moments_units_and_threads() -> None:
    [it] = condyle.compare(MODEL, STEPPING)
    [even] = condyle.compare(MODEL, STEPPING, fps=10)
    assert np.abs(even.times - np.arange(0.25, 1.8, 0.1)).max() < 1e-6 and 0.01 < even.worst <= it.worst
    [scaled] = condyle.compare(MODEL, STEPPING, unit=0.25, threads=2)
    assert scaled.worst == 0.25 * it.worst and np.array_equal(scaled.distances, 0.25 * it.distances)
    assert (scaled.percentile_99, scaled.mean_of_max) == pytest.approx((0.25 * it.percentile_99, 0.25 * it.mean_of_max))
    again = pickle.loads(pickle.dumps(it))
    assert again.where == it.where and repr(again) == repr(it) and '"bend"' in repr(it)


def test_a_unit_is_what_the_file_says(tmp_path: Path) -> None:
    """A library of clips that were encoded in centimetres."""
    paths = [tmp_path / "fine.condyle", tmp_path / "coarse.condyle"]
    for path, budget in zip(paths, (1e-4, 0.2), strict=True):
        condyle.join(path, [MODEL.encode(0, budget).to_bytes()], units=[0.01])
    fine, coarse = map(condyle.open, paths)
    assert fine.unit == pytest.approx(0.01) and MODEL.unit is None
    assert condyle.from_bytes(fine.pack()).unit == fine.unit == pickle.loads(pickle.dumps(fine)).unit
    [told], [units] = condyle.compare(fine, coarse), condyle.compare(fine, coarse, unit=1, shell=3.0)
    assert 0 < told.worst == pytest.approx(0.01 * units.worst)


def test_clips_of_ones_own_are_compared() -> None:
    coarse = MODEL.with_clips([MODEL.encode(0, 0.05)])
    assert coarse.clips[0].compressed and not MODEL.clips[0].compressed and len(coarse.primitives) == len(MODEL.primitives)
    [it] = condyle.compare(MODEL, coarse)
    assert 0 < it.worst <= 0.05 and it.reach is None
    twice = condyle.from_bytes(MODEL.with_clips([MODEL.clips[0].retime(speed=2), MODEL.clips[0]]).pack(), "twice")
    assert [clip.duration for clip in twice.clips] == [0.75, 1.5]
    assert pickle.loads(pickle.dumps(coarse)).clips[0].to_bytes() == coarse.clips[0].to_bytes()
    with pytest.raises(condyle.Error, match="belongs to a different skeleton"):
        MODEL.with_clips([condyle.Clip.from_poses(condyle.Skeleton([-1]), [0], translations=[[[0, 1, 0]]])])
    with pytest.raises(condyle.Error, match="not one of the clips"):
        condyle.compare(MODEL, coarse, MODEL.clips[0].retime(speed=2))


def test_joints_are_compared_as_far_off_as_is_told(tmp_path: Path) -> None:
    path = tmp_path / "motion.condyle"
    condyle.join(path, [MODEL.encode(0, 1e-3).to_bytes()])
    [it] = condyle.compare(MODEL, condyle.open(path))
    assert it.paired == "joints" and it.reach is not None and it.reach > 0


def test_a_packed_model_does_not_say_where_it_was() -> None:
    packed = MODEL.pack()
    assert b"testdata" not in packed and condyle.from_bytes(packed, model="two_joints").clips[0].name == "bend"


@pytest.mark.parametrize("clip", [0, -1, "bend", MODEL.clips[0]])
def test_a_clip_is_named(clip: int | str | condyle.Clip) -> None:
    assert [it.name for it in condyle.compare(MODEL, STEPPING, clip)] == ["bend"]


def test_joints_are_compared_where_there_are_no_meshes() -> None:
    joints = condyle.from_bytes(STEPPING.encode(0, 1e-4).to_bytes())
    [it] = condyle.compare(MODEL, joints)
    assert (it.paired, it.pairs, it.unpaired) == ("joints", 2, (0, 0))
    assert it.where.joint in MODEL.skeleton.names and it.where.vertex is None
    # The worst point of the ball: the distance of its centre, plus the largest effect of the matrix
    # difference on its radius.
    ours, theirs = (side.matrices(0, it.times).astype(float) for side in (MODEL, joints))
    off = ours - theirs
    worst = np.linalg.norm(off[..., 3], axis=2) + 0.03 * np.linalg.svd(off[..., :3], compute_uv=False)[..., 0]
    assert it.worst > 0.001 and np.abs(it.distances - worst.max(axis=1)).max() < 1e-6
    [far] = condyle.compare(MODEL, joints, shell=0.3)
    assert far.worst > it.worst and far.reach == pytest.approx(0.3, abs=1e-9)


def test_each_step_is_told() -> None:
    bar = Bar()
    condyle.compare(MODEL, STEPPING, threads=2, progress=bar)
    assert sum(bar.told) == 100
    with pytest.raises(RuntimeError, match="enough"):
        condyle.compare(MODEL, STEPPING, fps=600_000, progress=Bar(1))


def test_what_cannot_be_compared_is_refused() -> None:
    still = condyle.from_bytes(MODEL.clips[0].skeleton.to_bytes())
    arm = condyle.Skeleton([-1], names=["other"])
    moved = condyle.Clip.from_poses(arm, [0, 1], translations=[[[0, 0, 0]], [[0, 4, 0]]], name="bend")
    other = condyle.from_bytes(moved.encode(shell=0.03).to_bytes())
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: condyle.compare(MODEL, still), "has no clips"),
        (lambda: condyle.compare(MODEL, other), "do not hold the same model"),
        (lambda: condyle.compare(MODEL, STEPPING, "run"), 'no clip "run"'),
        (lambda: condyle.compare(MODEL, STEPPING, STEPPING.clips[0]), "not one of the clips"),
        (lambda: condyle.compare(MODEL, STEPPING, fps=0), "fps is 0"),
        (lambda: condyle.compare(MODEL, STEPPING, fps=float("nan")), "fps is NaN"),
        (lambda: condyle.compare(MODEL, STEPPING, fps=1e9), "more than 1000000 moments"),
        (lambda: condyle.compare(MODEL, STEPPING, unit=0), "unit must be finite and above 0, got 0"),
        (lambda: condyle.compare(MODEL, STEPPING, unit=float("inf")), "unit must be finite and above 0, got inf"),
        (lambda: condyle.compare(MODEL, STEPPING, threads=0), "threads must be 1 to 1024 or None, got 0"),
    ]
    for call, what in refusals:
        with pytest.raises(condyle.Error, match=what):
            call()
