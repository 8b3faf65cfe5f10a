"""Clips that are cut, stretched, reversed or resampled have the same curves at other times."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import TESTDATA
from numpy.typing import NDArray

import condyle

NAMES = ["two_joints.glb", "ancestors.glb", "morph.glb"]


def poses(clip: condyle.Clip, times: NDArray[np.float64]) -> NDArray[np.float32]:
    """Poses as matrices, because a rotation has two quaternions."""
    sampled = clip.sample(times)
    return condyle.to_matrices(sampled.rotations, sampled.translations, sampled.scales)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0, -1.0, -2.0])
def test_a_part_at_another_speed_is_the_same_curve(name: str, speed: float) -> None:
    for clip in condyle.open(TESTDATA / name).clips:
        start, end = clip.start + 0.2 * clip.duration, clip.start + 0.9 * clip.duration
        part = clip.retime(start, end, speed=speed)
        assert part.start == 0 and part.end == pytest.approx((end - start) / abs(speed), abs=1e-6)
        assert part.name == clip.name and not part.compressed
        # Away from key times, where steps switch.
        times = np.linspace(0.0137, 0.9871, 31) * (end - start)
        was = start + times if speed > 0 else end - times
        np.testing.assert_allclose(poses(part, times / abs(speed)), poses(clip, was), atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_durations_and_rates(name: str) -> None:
    for clip in condyle.open(TESTDATA / name).clips:
        whole = clip.retime()
        assert whole.start == 0 and whole.end == pytest.approx(clip.duration, abs=1e-6)
        assert clip.retime(duration=2.5).end == pytest.approx(2.5, abs=1e-6)
        frames = clip.retime(duration=2.0, rate=15)
        times = np.arange(31) / 15
        np.testing.assert_allclose(poses(frames, times), poses(clip.retime(duration=2.0), times), atol=2e-5)
        compressed = clip.encode(1e-4, shell=0.03)
        again = compressed.retime(speed=-1)
        assert not again.compressed
        np.testing.assert_allclose(poses(again, np.zeros(1)), poses(compressed, np.array([clip.end])), atol=2e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": float("nan")}, "start must be finite, got NaN"),
        ({"start": 0.5, "end": 0.25}, "end must be finite and at least 0.5, got 0.25"),
        ({"duration": -1}, "duration must be finite and above 0, got -1"),
        ({"speed": 0}, "speed must be finite and not 0, got 0"),
        ({"rate": 0}, "rate must be finite and above 0, got 0"),
        ({"duration": 1, "speed": 2}, "exclude each other, got duration=1 and speed=2"),
        ({"start": 0.5, "end": 0.5, "duration": 1}, "duration must be None for an empty part from 0.5 to 0.5"),
        ({"rate": 1e30}, "frames"),
    ],
)
def test_what_is_no_time_is_named(options: dict[str, float], message: str) -> None:
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0]
    with pytest.raises(condyle.Error, match=message):
        clip.retime(**options)  # type: ignore[arg-type]


def test_a_clip_of_one_frame() -> None:
    arm = condyle.Skeleton([-1, 0])
    clip = condyle.Clip.from_poses(arm, [0.5], [[[0, 0, 0, 1], [1, 0, 0, 0]]], name="still")
    for still in (clip, clip.encode(shell=0.03)):
        stretched = still.retime(0, 1)
        assert (stretched.start, stretched.end, stretched.name) == (0, 1, "still")
        assert np.allclose(stretched.sample([0, 0.5, 1]).rotations, clip.sample([0.5]).rotations, atol=1e-4)


def test_another_name() -> None:
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0]
    assert clip.retime(0.25, 0.5, name="part").name == "part"
    assert clip.encode(shell=0.03).retime(0.25, 0.5, name="part").name == "part" and clip.retime(0.25, 0.5).name == "bend"
