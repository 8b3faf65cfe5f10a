"""Clips unpacked into evenly spaced poses are compared with the clips."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import condyle
import numpy as np
import pytest
from conftest import TESTDATA

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def model() -> condyle.Model:
    """Two joints with a clip without jumps."""
    model = condyle.open(TESTDATA / "two_joints.glb")
    clip = model.clips[0]
    times = np.linspace(clip.start, clip.end, 46)
    return model.with_clips([condyle.Clip.from_poses(clip.skeleton, times, *clip.sample(times), name="bend")])


def joints(skeleton: condyle.Skeleton, poses: condyle.Poses) -> Array:
    """Model matrices of all joints: (..., J, 3, 4)."""
    return condyle.forward_kinematics(skeleton, *poses)


def farthest(a: Array, b: Array, radius: float) -> float:
    """Largest displacement of a point within a radius of its joint."""
    apart = np.linalg.norm(a[..., 3] - b[..., 3], axis=-1)
    turned = np.linalg.norm((a - b)[..., :3], ord=2, axis=(-2, -1))
    return float((apart + radius * turned).max())


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("budget", [1e-2, 1e-3, 1e-4])
def test_frames_stay_within_their_bounds(model: condyle.Model, compressed: bool, budget: float) -> None:
    clip = model.encode("bend") if compressed else model.clips[0]
    frames = clip.to_frames(budget, shell=0.25)
    assert 0 <= frames.error <= budget
    assert (frames.start, frames.end, frames.name) == (clip.start, clip.end, clip.name)
    assert (frames.seam_error > 0) <= compressed and frames.rate > 0 and frames.memory > 0
    times = np.linspace(clip.start - 0.1, clip.end + 0.1, 301)
    played, want = joints(clip.skeleton, frames.sample(times)), joints(clip.skeleton, clip.sample(times))
    assert farthest(played, want, 0.25) <= 1.1 * (frames.error + frames.seam_error) + 1e-5


def test_vertices_stay_within_the_budget(model: condyle.Model) -> None:
    clip = model.encode("bend")
    frames = model.to_frames(clip, 1e-3)
    times = np.linspace(clip.start, clip.end, 50)
    poses = frames.sample(times)
    played = condyle.Clip.from_poses(clip.skeleton, times, *poses)
    apart = model.skin(clip, times) - model.skin(played, times)
    assert np.linalg.norm(apart, axis=-1).max() <= frames.error + frames.seam_error + 1e-5


def test_many_characters_are_those_of_single_calls(model: condyle.Model) -> None:
    clip = model.clips[0]
    both = [model.to_frames(it) for it in (clip, clip.retime(speed=-1))]
    random = np.random.default_rng(7)
    times = random.uniform(0, 1.6, (2, 5, 3))
    weights = random.uniform(0, 1, times.shape).astype("f4")
    masks = np.array([[1, 0.5], [0.25, 1]], "f4")
    for mask in (None, masks):
        crowd = condyle.sample_frames(both, times, weights, masks=mask)
        assert [part.shape for part in crowd] == [(5, 3, 2, 4), (5, 3, 2, 3), (5, 3, 2, 3)]
        again = condyle.sample_frames(both, times, weights, masks=mask, threads=3)
        swapped = None if mask is None else mask[::-1]
        other = condyle.sample_frames(both[::-1], times[::-1], weights[::-1], masks=swapped)
        for at in np.ndindex(5, 3):
            one = condyle.sample_frames(both, times[(slice(None), *at)], weights[(slice(None), *at)], masks=mask)
            for part, whole, threaded, turned in zip(one, crowd, again, other):
                assert part.tobytes() == whole[at].tobytes() == threaded[at].tobytes() == turned[at].tobytes()


def test_one_clip_with_any_weight_is_a_sample(model: condyle.Model) -> None:
    frames = model.to_frames("bend")
    times = np.linspace(0, 2, 12).reshape(3, 4)
    alone = frames.sample(times)
    assert alone.rotations.shape == (3, 4, 2, 4)
    for part, other in zip(alone, condyle.sample_frames([frames], times[None], [0.3])):
        assert part.tobytes() == other.tobytes()
    out = condyle.Poses(*(np.zeros_like(part) for part in alone))
    assert frames.sample(times, out=out).rotations is out.rotations
    assert out.rotations.tobytes() == alone.rotations.tobytes()
    rest = condyle.sample_frames([frames], [0.5], [0.0])
    assert np.array_equal(rest.rotations, model.skeleton.rest.rotations)


def test_a_blend_is_close_to_blended_samples(model: condyle.Model) -> None:
    clip = model.clips[0]
    both = [clip.to_frames(1e-4, shell=0.25), clip.retime(speed=-1).to_frames(1e-4, shell=0.25)]
    times = np.stack([np.linspace(0.3, 1.2, 20), np.linspace(0.1, 0.9, 20)])
    mixed = condyle.sample_frames(both, times, [0.7, 0.3])
    apart = [it.sample(t) for it, t in zip(both, times)]
    want = condyle.blend(clip.skeleton, apart, [0.7, 0.3])
    for got, wanted in zip(mixed, want):
        assert np.abs(got - wanted).max() < 5e-3


def test_wrong_arguments_are_named(model: condyle.Model) -> None:
    frames = model.to_frames("bend")
    other = condyle.Clip.from_poses(condyle.Skeleton([-1]), [0, 1], translations=[[[0, 0, 0]], [[0, 1, 0]]])
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: condyle.sample_frames([], [], []), "1 to 8 clips, got 0"),
        (lambda: condyle.sample_frames([frames] * 9, [0] * 9, [1] * 9), "1 to 8 clips, got 9"),
        (lambda: condyle.sample_frames([frames], [[0], [1]], [1]), r"times must have shape \(1, ...\)"),
        (lambda: condyle.sample_frames([frames], [[0, 1]], [1, 2]), r"weights must have shape \(1,\) or \(1, 2\)"),
        (lambda: condyle.sample_frames([frames], [0], [1], masks=[[1]]), r"masks must have shape \(1, 2\)"),
        (lambda: condyle.sample_frames([frames], [0], [-1]), "at least 0"),
        (lambda: condyle.sample_frames([frames], [np.nan], [1]), "finite"),
        (lambda: condyle.sample_frames([frames, other.to_frames(shell=1)], [0, 0], [1, 1]), "skeleton"),
        (lambda: model.to_frames("bend", 0), "budget"),
        (lambda: model.clips[0].to_frames(1e-3, shell=-1), "radii"),
    ]
    for call, message in wrong:
        with pytest.raises(condyle.Error, match=message):
            call()
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(frames)
    assert repr(frames).startswith('<condyle.Frames "bend": 1.500 s at ')
