"""Files of all formats, malformed ones included, and bytes and pickles of their contents."""

from __future__ import annotations

import pickle
from pathlib import Path

import condyle
import numpy as np
import pytest
from conftest import TESTDATA

SMALL = sorted(TESTDATA.glob("*.glb"), key=lambda path: path.stat().st_size)[:4]
BVH = b"""HIERARCHY
ROOT hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT knee
  {
    OFFSET 0 -4 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -4 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.5
0 9 0 0 0 0 0 0 0
1 9 0 0 0 90 0 0 0
"""


def test_a_model_tells_what_it_holds() -> None:
    model = condyle.open(TESTDATA / "shared_joints.glb")
    assert repr(model) == (
        f"<condyle.Model {TESTDATA / 'shared_joints.glb'}: {len(model.skeleton)} joints, "
        f"{len(model.clips)} clip{'s' * (len(model.clips) != 1)}, {model.vertex_count} vertices>"
    )
    ends = [it.stop for it in model.primitives]
    assert [it.start for it in model.primitives] == [0, *ends[:-1]] and ends[-1] == model.vertex_count
    for primitive in model.primitives:
        triangles = primitive.triangles
        assert triangles.dtype == np.uint32 and triangles.shape[1] == 3 and triangles.max() < len(primitive)
    parents = model.skeleton.parents
    assert parents.dtype == np.int32 and (parents < np.arange(len(parents))).all()
    rest = condyle.forward_kinematics(model.skeleton, model.skeleton.rest.rotations)
    assert np.array_equal(rest, model.matrices(None, [0.0])[0])


def test_motion_capture() -> None:
    model = condyle.from_bytes(BVH)
    assert model.skeleton.names[:2] == ["hips", "knee"] and model.vertex_count == 0
    joints = model.joints(0, [0.0, 0.5])
    assert joints[0, 1].tolist() == [0.0, 5.0, 0.0] and joints[1, 0].tolist() == [1.0, 9.0, 0.0]
    assert model.skin(0, [0.0]).shape == (1, 0, 3)


def test_units_and_axes(tmp_path: Path) -> None:
    was, now = condyle.from_bytes(BVH), condyle.from_bytes(BVH, unit=0.01, up="z")
    assert was.unit is None and now.unit == pytest.approx(0.01)
    # The old z is y, and the old y is -z, at rest and in motion.
    for clip in (None, 0):
        x, y, z = np.moveaxis(was.joints(clip, [0.0, 0.25, 0.5]), -1, 0)
        assert np.allclose(now.joints(clip, [0.0, 0.25, 0.5]), np.stack([x, z, -y], axis=-1), atol=1e-6)
    assert condyle.from_bytes(now.pack()).unit == pytest.approx(0.01)
    assert pickle.loads(pickle.dumps(now)).unit == pytest.approx(0.01)
    path = TESTDATA / "two_joints.glb"
    was, now = condyle.open(path), condyle.open(path, unit=2.0, up="z")
    assert now.unit == 2.0
    x, y, z = np.moveaxis(was.skin(0, [0.5]), -1, 0)
    assert np.allclose(now.skin(0, [0.5]), np.stack([x, z, -y], axis=-1), atol=1e-6)
    packed = now.pack()
    assert np.allclose(condyle.from_bytes(packed).skin(None, [0.0]), now.skin(None, [0.0]), atol=1e-6)
    assert condyle.from_bytes(packed, unit=0.5).unit == 0.5
    condyle.from_bytes(packed, unit=0.5).save(tmp_path / "half.glb")
    assert condyle.open(tmp_path / "half.glb").unit == 0.5
    # Clips rotated before packing stay unchanged. Other packed clips cannot be rotated.
    again = condyle.from_bytes(packed, up="z")
    assert np.allclose(again.skin(None, [0.0]), now.skin(None, [0.0]), atol=1e-6)
    with pytest.raises(condyle.FileError, match="cannot be rotated"):
        condyle.from_bytes(was.pack(), up="z")
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(condyle.Error, match="unit must be a finite number of metres above 0"):
            condyle.from_bytes(BVH, unit=wrong)
    with pytest.raises(condyle.Error, match='up must be "y" or "z", got "x"'):
        condyle.from_bytes(BVH, up="x")  # type: ignore[arg-type]


def test_files_that_are_refused_say_why(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such.glb"):
        condyle.open(tmp_path / "no such.glb")
    with pytest.raises(condyle.FileError, match="not a regular file"):
        condyle.open(tmp_path)
    broken = tmp_path / "broken.gltf"
    broken.write_text('{"asset": {"version": "2.0"}, "nodes": [{"mesh": 7}], "scenes": [{"nodes": [0]}], "scene": 0}')
    with pytest.raises(condyle.FileError, match="broken.gltf cannot be used\n  error at /nodes/0/mesh") as caught:
        condyle.open(broken)
    problem = caught.value.problems[0]
    assert (problem.severity, problem.place, problem.count) == ("error", "/nodes/0/mesh", 1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and str(again.problems[0]) == str(problem)
    with pytest.raises(condyle.FileError, match="it is a single model"):
        condyle.open(TESTDATA / "rigid.glb", model="rigid")


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in SMALL])
def test_packed_models_and_pickles(path: Path, tmp_path: Path) -> None:
    model = condyle.open(path)
    file = tmp_path / "packed.condyle"
    file.write_bytes(model.pack(1e-4))
    packed = condyle.open(file)
    assert [clip.name for clip in packed.clips] == [clip.name for clip in model.clips]
    again = pickle.loads(pickle.dumps(packed))
    times = np.linspace(0, model.clips[0].end, 9)
    want = model.skin(0, times)
    got = packed.skin(0, times)
    assert np.abs(got - want).max() <= 1.5e-4
    assert again.skin(0, times).tobytes() == got.tobytes()
    clip = pickle.loads(pickle.dumps(packed.clips[0]))
    assert clip.skeleton == model.skeleton and clip.name == model.clips[0].name
    assert model.skin(clip, times).tobytes() == got.tobytes()
    assert pickle.loads(pickle.dumps(model.skeleton)) == model.skeleton
    other = condyle.Skeleton([-1, 0, 1])
    assert other != model.skeleton
    with pytest.raises(condyle.Error, match="belongs to a different skeleton"):
        condyle.from_bytes(BVH).joints(clip, [0.0])


ANIMATED = [path for path in sorted(TESTDATA.glob("*.glb")) if path.stat().st_size < 100_000]


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in ANIMATED])
def test_clips_as_authored_are_pickled_to_the_bit(path: Path) -> None:
    model = condyle.open(path)
    for clip in model.clips:
        again = pickle.loads(pickle.dumps(clip))
        assert (again.name, again.compressed, again.extras) == (clip.name, False, clip.extras)
        assert (again.start, again.end, again.skeleton) == (clip.start, clip.end, clip.skeleton)
        times = np.linspace(clip.start - 0.1, clip.end + 0.1, 57)
        for got, want in zip(again.sample(times), clip.sample(times)):
            assert got.tobytes() == want.tobytes()
        assert model.skin(again, times).tobytes() == model.skin(clip, times).tobytes()
        with pytest.raises(condyle.Error, match="belongs to a different skeleton"):
            condyle.from_bytes(BVH).joints(again, [0.0])


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in ANIMATED])
def test_models_as_authored_are_pickled_to_the_bit(path: Path) -> None:
    model = condyle.open(path)
    again = pickle.loads(pickle.dumps(model))
    assert (again.name, again.skeleton, len(again.clips)) == (model.name, model.skeleton, len(model.clips))
    assert [(clip.name, clip.extras) for clip in again.clips] == [(clip.name, clip.extras) for clip in model.clips]
    assert [(it.name, it.slice) for it in again.primitives] == [(it.name, it.slice) for it in model.primitives]
    for clip in [None, *range(len(model.clips))]:
        times = np.linspace(-0.1, 1.7, 23)
        assert again.matrices(clip, times).tobytes() == model.matrices(clip, times).tobytes()
        got, want = (it.skin(clip, times, normals=True, tangents=True) for it in (again, model))
        for mine, theirs in zip((got.positions, got.normals, got.tangents), (want.positions, want.normals, want.tangents)):
            assert mine is not None and theirs is not None and mine.tobytes() == theirs.tobytes()


def test_motions_are_pickled_to_the_bit() -> None:
    model = condyle.from_bytes(BVH, "walk.bvh")
    again = pickle.loads(pickle.dumps(model))
    times = np.linspace(0, model.clips[0].end, 9)
    assert again.joints(0, times).tobytes() == model.joints(0, times).tobytes()
    other = condyle.Clip.from_poses(condyle.Skeleton([-1]), [0], translations=[[[0, 0, 0]]])
    make = condyle.Model._from_parts  # type: ignore[attr-defined]
    with pytest.raises(condyle.Error, match="belongs to a different skeleton"):
        make(model.pack(), "walk", (other,))


def test_a_pickle_of_a_clip_is_checked() -> None:
    arm, key = condyle.Skeleton([-1]), np.zeros(3, np.float32)
    make = condyle.Clip._from_parts  # type: ignore[attr-defined]
    for track, why in [
        (("translation", 0, "lines", 0, key[:2]), "2 numbers, 3 expected"),
        (("translation", 1, "lines", 0, key), "refers to 1, but there are only 1"),
        (("translation", 1 << 16, "lines", 0, key), "unknown track: translation 65536 with interpolation lines"),
        (("translation", 0, "leaps", 0, key), "unknown track: translation 0 with interpolation leaps"),
        (("translation", 0, "lines", 1, key), "refers to 1, but there are only 1"),
        (("translation", 0, "lines", 0, key[None]), r"a track must have shape \(N,\), got \(1, 3\)"),
    ]:
        with pytest.raises(condyle.Error, match=why):
            make(arm, "lift", ([[0.0]], [track]))
    assert make(arm, "lift", ([[0.0]], [("translation", 0, "lines", 0, key)])).name == "lift"


def use(file: Path, data: bytes) -> bool:
    """Whether a file of these bytes can be opened. An opened model can be posed, or raises `condyle.Error`.
    """
    file.write_bytes(data)
    try:
        model = condyle.open(file)
    except condyle.FileError as error:
        assert error.problems and error.problems[0].severity == "error"
        return False
    for clip in (None, *range(len(model.clips))):
        try:
            model.skin(clip, [0.0, 0.5], normals=True)
        except condyle.Error:
            pass
    return True


SOURCES = {path.name: path.read_bytes() for path in SMALL}
SOURCES["motion.bvh"] = BVH
SOURCES["packed.condyle"] = condyle.open(SMALL[0]).pack(1e-3)


@pytest.mark.parametrize("name", SOURCES)
def test_files_that_are_cut_short(name: str, tmp_path: Path) -> None:
    file, whole = tmp_path / name, SOURCES[name]
    assert use(file, whole)
    lengths = [*range(64), *np.linspace(64, len(whole) - 1, 100, dtype=int).tolist()]
    opened = sum(use(file, whole[:length]) for length in lengths)
    # A truncated BVH has fewer frames. No other truncated file may open.
    assert opened == 0 or name.endswith(".bvh")


@pytest.mark.parametrize("name", SOURCES)
def test_files_with_other_bytes(name: str, tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    whole = np.frombuffer(SOURCES[name], "u1")
    for _ in range(300):
        broken = whole.copy()
        places = random.integers(0, len(whole), random.integers(1, 4))
        broken[places] ^= (1 << random.integers(0, 8, len(places))).astype("u1")
        use(tmp_path / name, broken.tobytes())


def test_any_bytes_are_no_clip_and_no_skeleton() -> None:
    whole = condyle.open(SMALL[0]).clips[0].encode(shell=0.03).to_bytes()
    assert condyle.Clip.from_bytes(whole).compressed
    for length in range(0, len(whole), 7):
        with pytest.raises(condyle.Error):
            condyle.Clip.from_bytes(whole[:length])
    for data in [b"", b"CONDYLE\0", whole[:-1]]:
        with pytest.raises(condyle.Error):
            condyle.Skeleton.from_bytes(data)
