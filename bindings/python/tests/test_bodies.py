"""Seeded body models, compared with the published formula in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import TESTDATA
from numpy.typing import NDArray

import condyle
from condyle import jobs

VERTICES, JOINTS, SHAPES = 97, 24, 10
Doubles = NDArray[np.float64]


def made(seed: int) -> dict[str, NDArray[np.generic]]:
    random = np.random.default_rng(seed)
    parents = [-1] + [int(random.integers(0, joint)) for joint in range(1, JOINTS)]
    weights = random.random((VERTICES, JOINTS)) * (random.random((VERTICES, JOINTS)) < 0.2)
    weights[:, 0] += 0.01
    regressor = random.random((JOINTS, VERTICES)) * (random.random((JOINTS, VERTICES)) < 0.1)
    regressor[:, 0] += 0.01
    return {
        "v_template": random.normal(size=(VERTICES, 3)).astype("f4"),
        "shapedirs": (0.02 * random.normal(size=(VERTICES, 3, SHAPES))).astype("f4"),
        "posedirs": (0.01 * random.normal(size=(VERTICES, 3, 9 * (JOINTS - 1)))).astype("f4"),
        "J_regressor": regressor / regressor.sum(1, keepdims=True),
        "weights": weights / weights.sum(1, keepdims=True),
        "kintree_table": np.array([[4294967295, *parents[1:]], list(range(JOINTS))], "u4"),
        "f": np.array([[0, 1, 2]], "u4"),
    }


def rodrigues(v: Doubles) -> Doubles:
    angle = np.linalg.norm(v, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(v / np.maximum(angle[..., 0], 1e-12), -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*x.shape, 3, 3)
    turned: Doubles = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turned


def formula(model: dict[str, NDArray[np.generic]], betas: Doubles, poses: Doubles, trans: Doubles) -> Doubles:
    wide = {name: np.asarray(array, "f8") for name, array in model.items()}
    shaped = wide["v_template"] + wide["shapedirs"][..., : len(betas)] @ betas
    joints = wide["J_regressor"] @ shaped
    turns = rodrigues(poses)
    features = (turns[:, 1:] - np.eye(3)).reshape(len(poses), -1)
    bind = shaped + np.einsum("tp,vcp->tvc", features, wide["posedirs"])
    placed = np.zeros((len(poses), JOINTS, 4, 4))
    for joint in range(JOINTS):
        local = np.zeros((len(poses), 4, 4))
        local[:, :3, :3], local[:, 3, 3] = turns[:, joint], 1
        parent = int(wide["kintree_table"][0, joint])
        local[:, :3, 3] = joints[joint] - (joints[parent] if joint else 0)
        placed[:, joint] = placed[:, parent] @ local if joint else local
    placed[:, :, :3, 3] -= np.einsum("tjab,jb->tja", placed[:, :, :3, :3], joints)
    blended = np.einsum("vj,tjab->tvab", wide["weights"], placed)
    turned = np.einsum("tvab,tvb->tva", blended[:, :, :3, :3], bind)
    moved: Doubles = turned + blended[:, :, :3, 3] + trans[:, None]
    return moved


@pytest.mark.parametrize("frames", [1, 3, 32, 70])
@pytest.mark.parametrize("compressed", [False, True])
def test_bodies_are_those_of_the_formula(tmp_path: Path, frames: int, compressed: bool) -> None:
    arrays = made(frames)
    save = np.savez_compressed if compressed else np.savez
    save(tmp_path / "model.npz", **arrays)  # type: ignore[arg-type]
    random = np.random.default_rng(7)
    poses, trans = random.normal(size=(frames, JOINTS, 3)), random.normal(size=(frames, 3))
    betas = random.normal(size=4)
    np.savez(
        tmp_path / "motion.npz",
        poses=poses.reshape(frames, -1),
        trans=trans,
        betas=betas,
        mocap_framerate=120.0,
        gender="neutral",
    )
    model = condyle.BodyModel(tmp_path / "model.npz")
    assert (model.vertex_count, model.joint_count, model.shape_count) == (VERTICES, JOINTS, SHAPES)
    assert model.triangles.tolist() == [[0, 1, 2]]
    motion = condyle.BodyMotion(tmp_path / "motion.npz")
    assert (len(motion), motion.rate, motion.gender) == (frames, 120.0, "neutral")
    body = model.shaped(motion.betas)
    clip = motion.clip(body)
    sampled = clip.sample(np.arange(frames) / 120.0)
    root = body.skeleton.rest.translations[0]
    vertices = body.vertices(sampled.rotations, sampled.translations[:, 0] - root)
    want = formula(arrays, betas.astype("f4").astype("f8"), poses, trans)
    assert vertices.shape == (frames, VERTICES, 3)
    assert np.abs(vertices - want).max() < 1e-4
    for threads in (2, None):
        assert np.array_equal(vertices, body.vertices(sampled.rotations, sampled.translations[:, 0] - root, threads=threads))
    out = np.empty_like(vertices)
    assert body.vertices(sampled.rotations, sampled.translations[:, 0] - root, out=out) is out
    assert np.array_equal(out, vertices)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    arrays = made(0)
    np.savez(tmp_path / "model.npz", **arrays)  # type: ignore[arg-type]
    body = condyle.BodyModel(tmp_path / "model.npz").shaped()
    with pytest.raises(condyle.Error, match=r"rotations must have shape \(T, 24, 4\), got \(24, 4\)"):
        body.vertices(np.zeros((24, 4)))
    with pytest.raises(condyle.Error, match=r"translations must have shape \(2, 3\), got \(3,\)"):
        body.vertices(np.zeros((2, 24, 4)), np.zeros(3))
    with pytest.raises(FileNotFoundError):
        condyle.BodyModel(tmp_path / "none.npz")
    del arrays["weights"]
    np.savez(tmp_path / "broken.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(condyle.FileError, match="array weights: the array is missing") as caught:
        condyle.BodyModel(tmp_path / "broken.npz")
    assert caught.value.problems[0].severity == "error"
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(condyle.FileError, match="found a file of another format"):
        condyle.BodyMotion(tmp_path / "text.npz")


def test_bodies_and_their_motions_are_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **made(3))  # type: ignore[arg-type]
    body = condyle.BodyModel(tmp_path / "model.npz").shaped([0.5])
    turns = np.random.default_rng(5).normal(size=(6, 24 * 3)) / 5
    arrays = {"poses": turns, "trans": np.ones((6, 3)), "betas": [0.5], "mocap_framerate": 60.0}
    np.savez_compressed(tmp_path / "walk.npz", **arrays)  # type: ignore[arg-type]

    model = condyle.open(tmp_path / "model.npz")
    assert not model.clips and not model.primitives and len(model.skeleton) == len(body.skeleton)
    walk = condyle.open(tmp_path / "walk.npz", body=body)
    want = condyle.BodyMotion(tmp_path / "walk.npz").clip(body)
    assert walk.skeleton == body.skeleton and walk.clips[0].name == want.name
    times = np.arange(6) / 60
    assert all(np.array_equal(a, b) for a, b in zip(walk.clips[0].sample(times), want.sample(times)))
    same = condyle.from_bytes((tmp_path / "walk.npz").read_bytes(), body=body)
    assert np.array_equal(same.joints(0, times), walk.joints(0, times))

    with pytest.raises(condyle.FileError, match="pass the body with body="):
        condyle.open(tmp_path / "walk.npz")
    with pytest.raises(condyle.FileError, match="array poses"):
        condyle.open(tmp_path / "model.npz", body=body)
    with pytest.raises(condyle.FileError, match=r"body= applies only to a \.npz"):
        condyle.open(TESTDATA / "two_joints.glb", body=body)
    with pytest.raises(condyle.FileError, match="model= applies only to a .condyle"):
        condyle.open(tmp_path / "model.npz", model="hips")


def test_motions_of_bodies_are_packed(tmp_path: Path) -> None:
    motions = tmp_path / "motions"
    motions.mkdir()
    np.savez(motions / "model.npz", **made(3))  # type: ignore[arg-type]
    turns = np.random.default_rng(5).normal(size=(6, 24 * 3)) / 5
    for name, betas in {"tall": [0.5], "small": [-0.5, *[0.0] * 20]}.items():
        arrays = {"poses": turns, "trans": np.ones((6, 3)), "betas": betas, "mocap_framerate": 60.0}
        np.savez(motions / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    job = jobs.Pack(str(motions), str(tmp_path / "out"), body=str(motions / "model.npz"), unit=0.01)
    done = jobs.run(job)
    library = condyle.Library(tmp_path / "out" / "library.condyle")
    assert library.names == ["small", "tall"] and done["left_out"] == [] and set(library.units) == {1.0}
    who = condyle.BodyModel(motions / "model.npz")
    for at, name in enumerate(library.names):
        motion = condyle.BodyMotion(motions / f"{name}.npz")
        body = who.shaped(motion.betas[: who.shape_count])
        want = motion.clip(body).encode(0.0005, shell=0.03)
        times = np.arange(6) / 60
        assert all(np.array_equal(a, b) for a, b in zip(library[at].sample(times), want.sample(times)))
    assert library.columns["repairs"] == [0, 0]
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()

    # Another body yields other clips. Without a body there are no clips.
    np.savez(motions / "model.npz", **made(4))  # type: ignore[arg-type]
    before = (tmp_path / "out" / "library.condyle").read_bytes()
    jobs.run(job)
    assert (tmp_path / "out" / "library.condyle").read_bytes() != before
    with pytest.raises(condyle.Error, match="none of its files can be used"):
        jobs.run(jobs.Pack(str(motions), str(tmp_path / "none")))
    with pytest.raises(FileNotFoundError):
        jobs.Pack(str(motions), str(tmp_path / "none"), body="no such.npz").plan()


def written(path: Path, joints: int, **arrays: object) -> Path:
    """Writes a motion with this number of joints."""
    turns = np.random.default_rng(joints).normal(size=(6, 3 * joints)) / 5
    np.savez(path, **{"poses": turns, "mocap_framerate": 60.0, **arrays})  # type: ignore[arg-type]
    return path


def test_joints_are_named_by_the_layout(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **made(3))  # type: ignore[arg-type]
    body = condyle.BodyModel(tmp_path / "model.npz").shaped()
    path = written(tmp_path / "body.npz", 22)
    rotations = condyle.open(path, body=body).clips[0].sample(np.arange(6) / 60).rotations
    moved = np.abs(rotations[..., :3]).max(axis=(0, 2)) > 0
    # SMPL's hands follow the 22 joints that all models share.
    assert moved.tolist() == [True] * 22 + [False] * 2
    for joints in (26, 30, 53):
        with pytest.raises(condyle.FileError, match=f"array poses: it rotates {joints} joints, expected 21, 22, 23"):
            condyle.open(written(tmp_path / "odd.npz", joints), body=body)
    with pytest.warns(UserWarning, match="the body has no joint left_index1, left_index2") as caught:
        condyle.BodyMotion(written(tmp_path / "hands.npz", 52)).clip(body)
    assert caught[0].filename == __file__
    left_out = condyle.open(tmp_path / "hands.npz", body=body).problems
    assert [problem.severity for problem in left_out] == ["warning"]


def test_broken_frames_are_repaired_and_reported(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **made(3))  # type: ignore[arg-type]
    body = condyle.BodyModel(tmp_path / "model.npz").shaped()
    turns = np.ones((6, 72)) / 5
    turns[2, 5] = np.nan
    path = written(tmp_path / "walk.npz", 24, poses=turns)
    motion, model = condyle.BodyMotion(path), condyle.open(path, body=body)
    assert [problem.what for problem in motion.problems] == [problem.what for problem in model.problems]
    assert "the rotations of 1 of 6 frames" in model.problems[0].what
    rotations = model.clips[0].sample(np.arange(6) / 60).rotations
    assert np.abs(rotations - rotations[:1]).max() < 1e-6


def test_people_are_as_files_have_them(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **made(3))  # type: ignore[arg-type]
    model = condyle.BodyModel(tmp_path / "model.npz")
    betas = np.linspace(-1, 1, 16)
    for shape, gender in [((16,), "male"), ((1, 16), np.array(b"male")), ((6, 16), np.array("male", dtype=object))]:
        motion = condyle.BodyMotion(written(tmp_path / "walk.npz", 24, betas=np.broadcast_to(betas, shape), gender=gender))
        assert motion.gender == "male" and np.array_equal(motion.betas, betas.astype("f4"))
    with pytest.warns(UserWarning, match="betas has 16 coefficients, the model has 10; only the first 10 are used"):
        body = model.shaped(motion.betas)
    assert np.array_equal(body.positions, model.shaped(betas[:10]).positions)


def test_memory_is_bounded_by_the_file(tmp_path: Path) -> None:
    # 72 MB of zeros in 70 kB.
    np.savez_compressed(tmp_path / "walk.npz", poses=np.zeros((125_000, 72)), mocap_framerate=60.0)
    with pytest.raises(condyle.FileError, match="too large for the size of the file"):
        condyle.BodyMotion(tmp_path / "walk.npz")
    np.savez_compressed(tmp_path / "walk.npz", poses=np.zeros((50_000, 72)), mocap_framerate=60.0)
    assert len(condyle.BodyMotion(tmp_path / "walk.npz")) == 50_000


def test_packs_choose_the_model_by_gender(tmp_path: Path) -> None:
    motions = tmp_path / "motions"
    motions.mkdir()
    models = {gender: str(tmp_path / f"{gender}.npz") for gender in ("female", "male", "neutral")}
    for at, path in enumerate(models.values()):
        np.savez(path, **made(at))  # type: ignore[arg-type]
    for gender in ("female", "male", "other"):
        written(motions / f"{gender}.npz", 24, gender=gender)
    written(motions / "none.npz", 24)
    jobs.run(jobs.Pack(str(motions), str(tmp_path / "out"), body=models))
    library = condyle.Library(tmp_path / "out" / "library.condyle")
    heights = {gender: condyle.BodyModel(path).shaped().skeleton.rest.translations for gender, path in models.items()}
    for name, gender in {"female": "female", "male": "male", "other": "neutral", "none": "neutral"}.items():
        assert np.array_equal(library.skeleton(name).rest.translations, heights[gender]), name
    done = jobs.run(jobs.Pack(str(motions), str(tmp_path / "out"), body={"male": models["male"]}))
    assert done["clips"] == 1 and len(done["left_out"]) == 3
    assert "its gender is 'female', but body= has neither this model" in done["left_out"][0]["why"]
    with pytest.raises(condyle.Error, match="body must map 'female', 'male' or 'neutral' to files, got 'him'"):
        jobs.Pack(str(motions), str(tmp_path / "out"), body={"him": "m.npz"})
