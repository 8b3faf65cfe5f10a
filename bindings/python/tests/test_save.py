"""Exported clips and models are the same when read back."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Literal

import condyle
import numpy as np
import pytest
from conftest import TESTDATA


@pytest.mark.parametrize("compressed", [False, True])
def test_clips_come_back(tmp_path: Path, compressed: bool) -> None:
    model = condyle.open(TESTDATA / "two_joints.glb")
    clip = model.encode("bend", 1e-4) if compressed else model.clips[0]
    clip.save(tmp_path / "bend.bvh", rate=60)
    clip.save(tmp_path / "bend.glb")
    for name in ("bend.bvh", "bend.glb"):
        back = condyle.open(tmp_path / name)
        times = np.arange(91) / 60
        shift = clip.start if name.endswith("bvh") else 0
        assert back.clips[0].name == "bend" and back.skeleton.names == model.skeleton.names
        off = np.abs(back.joints(0, times) - model.joints(clip, times + shift)).max()
        assert off < 2e-3, (name, off)
    with pytest.raises(condyle.Error, match=r"does not end in .bvh, .glb or .condyle"):
        clip.save(tmp_path / "bend.fbx")
    with pytest.raises(condyle.Error, match="rate applies only to .bvh"):
        clip.save(tmp_path / "bend.glb", rate=30)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bend.bvh", "bend.glb"]


def test_motion_capture_keeps_its_rate(tmp_path: Path) -> None:
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"], translations=[[0, 1, 0], [0, -1, 0]])
    turns = np.tile([0, 0, 0, 1.0], (40, 2, 1))
    turns[:, 1, 0] = np.linspace(0, 0.5, 40)
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    clip = condyle.Clip.from_poses(arm, np.arange(40) * 1001 / 30000, turns, name="walk")
    clip.save(tmp_path / "walk.bvh")
    back = condyle.open(tmp_path / "walk.bvh").clips[0]
    assert len(back.times) == 40 and abs(back.end - clip.end) < 1e-5
    uneven = condyle.Clip.from_poses(arm, [0, 0.1, 0.5], turns[:3], name="walk")
    with pytest.raises(condyle.Error, match='the keys of the clip "walk" are not evenly spaced; pass rate='):
        uneven.save(tmp_path / "uneven.bvh")
    uneven.save(tmp_path / "uneven.bvh", rate=30)
    # Raised immediately, not after writing frames.
    with pytest.raises(condyle.Error, match="1,000,000 frames per second"):
        uneven.save(tmp_path / "many.bvh", rate=1e12)


def test_motion_keeps_its_unit_and_its_axes(tmp_path: Path) -> None:
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"], translations=[[0, 100, 0], [0, -50, 0]])
    turns = np.tile([0, 0, 0, 1.0], (4, 2, 1))
    turns[1, :] = [0.6, 0, 0, 0.8]
    condyle.Clip.from_poses(arm, np.arange(4) / 30, turns, name="stand").save(tmp_path / "stand.bvh")
    condyle.open(tmp_path / "stand.bvh").save(tmp_path / "plain.glb")
    assert condyle.open(tmp_path / "plain.glb").unit is None
    turned = condyle.open(tmp_path / "stand.bvh", unit=0.01, up="z")
    for name, model in {"turned": turned, "encoded": turned.with_clips([turned.encode(0)])}.items():
        model.save(tmp_path / f"{name}.glb")
        # A rotated file is not rotated again.
        back = condyle.open(tmp_path / f"{name}.glb", up="z")
        assert back.unit == turned.unit == pytest.approx(0.01)
        assert np.allclose(back.joints(0, [0.05]), turned.joints(0, [0.05]), atol=1e-2)


def test_the_shell_of_joints_is_three_centimetres() -> None:
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"], translations=[[0, 100, 0], [0, -50, 0]])
    turns = np.tile([0, 0, 0, 1.0], (60, 2, 1))
    turns[:, :, 0] = np.random.default_rng(1).normal(size=(60, 2)) / 4
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    clip = condyle.Clip.from_poses(arm, np.arange(60) / 30, turns, name="walk")
    # A model in centimetres, and the same model without a unit.
    model = condyle.from_bytes(clip.encode(1e-3, shell=3.0).to_bytes(), unit=0.01).with_clips([clip])
    for of, shell in ((model, 3.0), (condyle.from_bytes(clip.encode(1e-3, shell=3.0).to_bytes()).with_clips([clip]), 0.03)):
        assert of.encode(0, 0.05).to_bytes() == of.encode(0, 0.05, shell=shell).to_bytes()
        assert of.pack(0.05) == of.pack(0.05, shell=shell)
    assert model.encode(0, 0.05).to_bytes() != model.encode(0, 0.05, shell=0.03).to_bytes()


def test_a_clip_keeps_its_shell(tmp_path: Path) -> None:
    """Bytes, models, pickles and libraries keep the shell, and later steps use it."""
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"], translations=[[0.0, 1.0, 0.0], [0.0, -0.5, 0.0]])
    turns = np.tile([0, 0, 0, 1.0], (120, 2, 1))
    turns[:, :, 0] = np.sin(np.arange(240) * 0.37).reshape(120, 2) / 4
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    clip = condyle.Clip.from_poses(arm, np.arange(120) / 30, turns, name="walk")
    wide = clip.encode(1e-3, shell=2.0)
    assert clip.shell is None and wide.shell == 2.0
    model = condyle.from_bytes(wide.to_bytes())
    paths = [tmp_path / "a.condyle", tmp_path / "b.condyle"]
    condyle.join(paths[0], [wide.to_bytes(), clip.encode(1e-3, shell=0.5).to_bytes()], names=["wide", "narrow"])
    model.save(paths[1])
    library = condyle.Library(paths[0])
    kept = [condyle.Clip.from_bytes(wide.to_bytes()), pickle.loads(pickle.dumps(wide)), model.clips[0], library["wide"]]
    kept += [condyle.open(paths[1]).clips[0], pickle.loads(pickle.dumps(model)).clips[0], condyle.from_bytes(model.pack()).clips[0]]
    assert [it.shell for it in kept] == [2.0] * len(kept)
    assert library["narrow"].shell == 0.5
    assert condyle.from_bytes(model.with_clips([clip]).pack(1e-3, shell=0.25)).clips[0].shell == 0.25
    # No ball is stored, because every joint has vertices.
    assert condyle.open(TESTDATA / "two_joints.glb").encode(0).shell is None

    # Keys are within 1/16 of the bound, up to two metres around each joint.
    model.save(tmp_path / "back.glb")
    [found] = condyle.compare(model, condyle.open(tmp_path / "back.glb"))
    assert found.reach == 2.0 and found.worst <= 1.01 * 1e-3 / 16


def test_joints_are_compared_within_the_smaller_shell() -> None:
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"], translations=[[0.0, 1.0, 0.0], [0.0, -0.5, 0.0]])
    clip = condyle.Clip.from_poses(arm, [0, 1], translations=[[[0, 1, 0], [0, 0, 0]], [[0, 2, 0], [0, 1, 0]]], name="rise")
    raw, wide, narrow = (condyle.from_bytes(clip.encode(shell=0.5).to_bytes()).with_clips([it]) for it in (clip, clip.encode(shell=0.5), clip.encode(shell=0.25)))
    reaches = [[condyle.compare(a, b)[0].reach for b in (raw, wide, narrow)] for a in (raw, wide, narrow)]
    assert reaches == [[pytest.approx(0.03), 0.5, 0.25], [0.5, 0.5, 0.25], [0.25, 0.25, 0.25]]
    assert condyle.compare(wide, narrow, shell=0.125)[0].reach == 0.125
    assert condyle.compare(wide, wide, unit=0.5)[0].reach == 0.25


def test_what_a_file_has_no_place_for_is_reported(tmp_path: Path) -> None:
    arm = condyle.Skeleton([-1], names=["hip"])
    clip = condyle.Clip.from_poses(arm, [0, 1], scales=[[[1, 1, 1]], [[2, 2, 2]]], name="grow")
    with pytest.warns(UserWarning, match='the clip "grow" scales joints'):
        clip.save(tmp_path / "grow.bvh")
    morph = condyle.open(TESTDATA / "morph.glb")
    small = morph.with_clips([morph.encode(0)])
    with pytest.warns(UserWarning, match="has morph weights and tracks that a BVH cannot store; they are left out"):
        small.clips[0].save(tmp_path / "morph.bvh")
    # A glTF document can store morph weights.
    small.save(tmp_path / "morph.glb")
    times = np.linspace(0, 1, 9)
    assert np.abs(condyle.open(tmp_path / "morph.glb").skin(0, times) - small.skin(0, times)).max() < 1e-3


def test_models_come_back(tmp_path: Path) -> None:
    for name in ("two_joints", "ancestors", "morph"):
        model = condyle.open(TESTDATA / f"{name}.glb")
        model.save(tmp_path / f"{name}.glb")
        back = condyle.open(tmp_path / f"{name}.glb")
        assert [clip.name for clip in back.clips] == [clip.name for clip in model.clips]
        times = np.linspace(0, 1, 7)
        assert np.abs(back.skin(0, times) - model.skin(0, times)).max() < 1e-5
    two = model.with_clips([*model.clips, *model.clips])
    with pytest.raises(condyle.Error, match="a BVH holds one clip"):
        two.save(tmp_path / "two.bvh")
    model.save(tmp_path / "model.condyle")
    assert condyle.open(tmp_path / "model.condyle").clips[0].compressed


def test_errors_name_the_argument_and_the_clip() -> None:
    arm = condyle.Skeleton([-1, 0], names=["hip", "knee"])
    turns = np.tile([0, 0, 0, 1.0], (3, 2, 1))

    def made(**changed: object) -> condyle.Clip:
        arguments: dict[str, object] = {"times": [0, 1, 2], "rotations": turns, "name": "walk", **changed}
        return condyle.Clip.from_poses(arm, **arguments)  # type: ignore[arg-type]

    def broken(value: float) -> object:
        array = turns.copy()
        array[1, 1, 3] = value
        return array

    cases: dict[str, dict[str, object]] = {
        r"rotations\[1, 1, 3\] must be finite, got NaN": {"rotations": broken(np.nan)},
        r"rotations\[1, 1\] must be a unit quaternion, got length 0": {"rotations": broken(0)},
        r"times must increase: times\[2\] is 0.5 after 1": {"times": [0, 1, 0.5]},
        r"times is empty": {"times": [], "rotations": turns[:0]},
        r"translations\[0, 0, 0\] must be finite, got inf": {"translations": np.full((3, 2, 3), np.inf)},
    }
    for words, changed in cases.items():
        with pytest.raises(condyle.Error, match=words):
            made(**changed)
    with pytest.raises(condyle.Error, match='the clip "walk": .budget. must be finite'):
        made().encode(-1, shell=0.03)
    with pytest.raises(condyle.Error, match=r"translations\[0, 1\] must be finite, got NaN"):
        condyle.Skeleton([-1], translations=[[0, np.nan, 0]])
    with pytest.raises(condyle.Error, match=r"goals\[0\] must be finite, got NaN"):
        condyle.chain(arm, arm.rest, [0, 1], [np.nan, 0, 0])
    with pytest.raises(condyle.Error, match="data: "):
        condyle.Clip.from_bytes(b"no clip")
    with pytest.raises(condyle.Error, match="duration=.* is out of range"):
        made().retime(0, 1, duration=1e-42)


@pytest.mark.parametrize("compression", ["ext", "khr"])
@pytest.mark.parametrize("name", ["eight_influences", "morph", "two_joints"])
def test_smaller_meshes_stay_within_their_budget(
    name: str, compression: Literal["ext", "khr"], tmp_path: Path
) -> None:
    model = condyle.open(TESTDATA / f"{name}.glb")
    model.save(tmp_path / "whole.glb")
    model.save(tmp_path / "small.glb", mesh_budget=1e-3, compression=compression)
    assert (tmp_path / "small.glb").stat().st_size < (tmp_path / "whole.glb").stat().st_size
    small = condyle.open(tmp_path / "small.glb")
    for difference in condyle.compare(model, small):
        assert difference.worst < 1e-3 + 1e-5


def test_wrong_options_of_smaller_meshes_are_named(tmp_path: Path) -> None:
    model = condyle.open(TESTDATA / "two_joints.glb")
    for budget in (0, -1, float("nan"), float("inf")):
        with pytest.raises(condyle.Error, match="mesh_budget must be finite and above 0"):
            model.save(tmp_path / "x.glb", mesh_budget=budget)
    with pytest.raises(condyle.Error, match="mesh_budget applies only to .glb"):
        model.save(tmp_path / "x.condyle", mesh_budget=1e-3)
    with pytest.raises(condyle.Error, match='compression must be "ext" or "khr", got "zip"'):
        model.save(tmp_path / "x.glb", mesh_budget=1e-3, compression="zip")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
