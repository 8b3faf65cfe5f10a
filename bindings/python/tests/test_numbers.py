"""Results are compared with the formulas in float64, and with the library bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import condyle
import numpy as np
import pytest
from conftest import MODELS
from test_arrays import quaternions

Array = np.ndarray[Any, Any]


def matrices_of(q: Array) -> Array:
    x, y, z, w = np.moveaxis(q.astype("f8"), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


@pytest.mark.parametrize("count", [1, 15, 255, 256, 257, 1000])
def test_slerp_is_the_formula(count: int) -> None:
    a, b = quaternions(count), quaternions(count, seed=2)
    t = np.random.default_rng(3).random(count, dtype="f4")
    cosine = (a.astype("f8") * b).sum(-1)
    angle = np.arccos(np.clip(np.abs(cosine), 0, 1))[:, None]
    for factors in (t, np.float32(0.3)):
        f = np.broadcast_to(factors, count)[:, None].astype("f8")
        want = (np.sin((1 - f) * angle) * a + np.sign(cosine)[:, None] * np.sin(f * angle) * b) / np.sin(angle)
        got = condyle.slerp(a, b, factors)
        # A quaternion and its negative are the same rotation.
        off = np.minimum(np.abs(got - want), np.abs(got + want)).max()
        assert off < 4e-7
        assert got.tobytes() == condyle.interpolate(a, b, factors, threads=3).tobytes()
        exact = condyle.interpolate(a, b, factors, method="exact")
        for method in ["slerp4", "eberly8", "nlerp"]:
            other = condyle.interpolate(a, b, factors, method=method)
            assert np.abs(other - exact).max() <= condyle.error_bound(method, np.pi / 2) + 2e-7


def test_slerp_hits_both_ends() -> None:
    a, b = quaternions(300), quaternions(300, seed=2)
    assert np.array_equal(condyle.slerp(a, b, 0.0), a)
    assert np.array_equal(np.abs(condyle.nlerp(a, b, 1.0)), np.abs(b))


@pytest.mark.parametrize("count", [1, 255, 257, 600])
def test_matrices_are_the_formula_and_come_back(count: int) -> None:
    random = np.random.default_rng(5)
    q, t, s = quaternions(count), random.normal(size=(count, 3)), random.uniform(0.5, 2, size=(count, 3))
    got = condyle.to_matrices(q, t, s, threads=2)
    want = np.concatenate([matrices_of(q) * s[:, None, :], t[..., None]], -1)
    assert np.abs(got - want).max() < 2e-6
    back = condyle.from_matrices(got)
    assert np.abs(np.abs((back.rotations * q).sum(-1)) - 1).max() < 1e-6
    assert np.allclose(back.scales, s, atol=2e-6) and np.array_equal(back.translations, got[..., 3])
    assert condyle.to_matrices(q.reshape(-1, 1, 4)).shape == (count, 1, 3, 4)


def test_forward_kinematics_is_the_formula() -> None:
    joints, frames = 40, 11
    random = np.random.default_rng(7)
    parents = [-1] + [int(random.integers(0, joint)) for joint in range(1, joints)]
    q, t = quaternions(frames, joints), random.normal(size=(frames, joints, 3))
    got = condyle.forward_kinematics(parents, q, t)
    local = np.concatenate([matrices_of(q), t[..., None]], -1)
    for joint, parent in enumerate(parents):
        want = local[:, joint].copy()
        if parent >= 0:
            above = local[:, parent]
            want = above[..., :3] @ want
            want[..., 3] += above[..., 3]
        local[:, joint] = want
    assert np.abs(got - local).max() < 2e-5
    assert condyle.forward_kinematics(parents, q, t, threads=3).tobytes() == got.tobytes()
    bones = t[0]
    skeleton = condyle.Skeleton(np.array(parents), translations=bones)
    one = condyle.forward_kinematics(skeleton, q)
    assert one.tobytes() == condyle.forward_kinematics(parents, q, bones).tobytes()
    assert one.tobytes() == condyle.forward_kinematics(parents, q, np.broadcast_to(bones, t.shape)).tobytes()
    assert one[3].tobytes() == condyle.forward_kinematics(skeleton, q[3]).tobytes()


def test_forward_kinematics_of_a_clip_is_what_the_model_says() -> None:
    for path in MODELS[:4]:
        model = condyle.open(path)
        times = np.linspace(0, 1, 5)
        poses = model.clips[0].sample(times)
        got = condyle.forward_kinematics(model.skeleton, *poses)
        assert got.tobytes() == model.matrices(0, times).tobytes()


def poses(*shape: int, seed: int) -> condyle.Poses:
    random = np.random.default_rng(seed)
    sizes = random.uniform(0.5, 2, size=(*shape, 3))
    return condyle.Poses(quaternions(*shape, seed=seed), *(it.astype("f4") for it in (random.normal(size=(*shape, 3)), sizes)))


def test_blends_are_weighted_means() -> None:
    skeleton = condyle.Skeleton([-1, *range(19)])
    a, b = poses(6, 20, seed=1), poses(6, 20, seed=2)
    got = condyle.blend(skeleton, [a, b], [1, 3])
    for mixed, first, second in zip(got[1:], a[1:], b[1:]):
        assert np.abs(mixed - (first + 3 * second) / 4).max() < 1e-6
    assert np.abs(np.linalg.norm(got.rotations, axis=-1) - 1).max() < 1e-6
    weights = np.stack([np.linspace(0, 1, 6), np.linspace(1, 0, 6)])
    got = condyle.blend(skeleton, [a, b], weights, threads=3)
    assert np.array_equal(got.translations[0], b.translations[0])
    assert np.array_equal(got.translations[5], a.translations[5])
    for frame in range(6):
        frames = [[it[frame] for it in a], [it[frame] for it in b]]
        one = condyle.blend(skeleton, frames, weights[:, frame])  # type: ignore[arg-type]
        assert all(np.array_equal(x, y[frame]) for x, y in zip(one, got))
    with pytest.raises(condyle.Error, match="poses is empty"):
        condyle.blend(skeleton, [], [])
    with pytest.raises(condyle.Error, match=r"weights must have shape \(2,\) or \(2, 6\), got \(3,\)"):
        condyle.blend(skeleton, [a, b], [1, 2, 3])
    with pytest.raises(condyle.Error, match=r"poses\[1\].rotations must have shape \(6, 20, 4\), got \(5, 20, 4\)"):
        condyle.blend(skeleton, [a, poses(5, 20, seed=1)], [1, 2])
    with pytest.raises(condyle.Error, match=r"poses\[0\].rotations must have shape \(..., 2, 4\), got \(6, 20, 4\)"):
        condyle.blend(condyle.Skeleton([-1, 0]), [a], [1])


def test_what_differs_is_added_again() -> None:
    a, b = poses(6, 20, seed=1), poses(6, 20, seed=2)
    apart = condyle.difference(a, b)
    assert np.allclose(apart.translations, a.translations - b.translations) and np.allclose(apart.scales, a.scales / b.scales)
    again = condyle.add(b, apart, threads=2)
    assert np.abs(np.abs((again.rotations * a.rotations).sum(-1)) - 1).max() < 1e-6
    assert np.allclose(again.translations, a.translations, atol=1e-5) and np.allclose(again.scales, a.scales, atol=1e-5)
    for none, same in zip(condyle.add(b, apart, 0.0), b):
        assert np.array_equal(none, same)
    with pytest.raises(condyle.Error, match="amount must be finite, got NaN"):
        condyle.add(b, apart, np.nan)
    with pytest.raises(condyle.Error, match="reference must be Poses"):
        condyle.difference(a, a.rotations)  # type: ignore[arg-type]


@pytest.mark.skipif("CONDYLE_POSED" not in os.environ, reason="`cargo build --release --example posed` and name it there")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in MODELS])
def test_all_bits_are_those_of_the_library(path: Path) -> None:
    times, program = ["0", "0.2734375", "0.9"], os.environ["CONDYLE_POSED"]
    environment = {**os.environ, "CONDYLE_NUMERIC": "portable"}
    for clip in [-1, *range(min(2, len(condyle.open(path).clips)))]:
        want = subprocess.run([program, path, str(clip), *times], env=environment, check=True, capture_output=True)
        arguments = [sys.executable, __file__, str(path), str(clip), *times]
        got = subprocess.run(arguments, env=environment, check=True, capture_output=True)
        assert got.stdout == want.stdout, f"clip {clip}"


def main() -> None:
    """Writes the output of `examples/posed.rs`, computed by the package."""
    _, path, clip_text, *time_texts = sys.argv
    model, clip, times = condyle.open(path), int(clip_text), np.array(time_texts, "f8")
    which = None if clip < 0 else clip
    poses = model.skeleton.rest if which is None else model.clips[which].sample(times)
    transforms = np.concatenate([*poses], -1)
    transforms = np.broadcast_to(transforms, (len(times), *transforms.shape[-2:]))
    matrices, vertices = model.matrices(which, times), model.skin(which, times)
    parts = [it.reshape(len(times), -1) for it in (transforms, matrices, vertices)]
    sys.stdout.buffer.write(np.concatenate(parts, -1).astype("f4").tobytes())


if __name__ == "__main__":
    main()
