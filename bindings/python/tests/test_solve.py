"""Inverse kinematics on arrays of poses reaches the goals in each frame, like the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import condyle
import numpy as np
import pytest
from numpy.typing import NDArray

FRAMES = 40
NAMES = ["hip", "knee", "foot", "toe"]
OFFSETS = [[0.0, 2.0, 0.0], [0.0, -1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.2]]
LEG = condyle.Skeleton([-1, 0, 1, 2], names=NAMES, translations=OFFSETS)


@pytest.fixture
def poses() -> condyle.Poses:
    random = np.random.default_rng(4)
    turns = random.normal(size=(FRAMES, 4, 4)) / 6 + [0, 0, 0, 1]
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    rest = LEG.rest
    tiled = [np.tile(it, (FRAMES, 1, 1)) for it in (rest.translations, rest.scales)]
    return condyle.Poses(turns.astype("f4"), *tiled)


def goals() -> NDArray[np.float64]:
    random = np.random.default_rng(5)
    directions = random.normal(size=(FRAMES, 3)) - [0, 2, 0]
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return [0, 2, 0] + directions * random.uniform(0.4, 1.9, (FRAMES, 1))


def placed(poses: condyle.Poses) -> NDArray[np.float32]:
    return condyle.forward_kinematics(LEG, *poses)


def test_limbs_reach_their_goals(poses: condyle.Poses) -> None:
    wanted = goals()
    solved = condyle.two_bone(LEG, poses, ["hip", "knee", "foot"], wanted, poles=[0, 0, 1], threads=2)
    assert np.abs(placed(solved)[:, 2, :, 3] - wanted).max() < 1e-5
    # Other joints do not change, and the knee is on the pole's side of the line to the goal.
    assert np.array_equal(solved.rotations[:, 2:], poses.rotations[:, 2:])
    way, knee = wanted - [0, 2, 0], placed(solved)[:, 1, :, 3] - [0, 2, 0]
    off = knee - way * ((knee * way).sum(-1) / (way**2).sum(-1))[:, None]
    assert (off[:, 2] > -1e-5).all()
    fifth = condyle.Poses(*(it[5] for it in poses))
    alone = condyle.two_bone(LEG, fifth, [0, 1, 2], wanted[5], poles=[0, 0, 1])
    assert np.array_equal(alone.rotations, solved.rotations[5])
    turn = np.array([0.0, np.sin(0.3), 0.0, np.cos(0.3)])
    turned = condyle.two_bone(LEG, poses, [0, 1, 2], wanted, orientations=turn)
    assert np.abs(placed(turned)[:, 2, :, :3] - condyle.to_matrices(turn)[..., :3]).max() < 1e-5
    half = condyle.two_bone(LEG, poses, [0, 1, 2], wanted, weight=0)
    assert np.array_equal(half.rotations, poses.rotations)
    out = condyle.Poses(*(np.empty_like(it) for it in poses))
    assert condyle.two_bone(LEG, poses, [0, 1, 2], wanted, out=out).rotations is out.rotations


def test_joints_point_at_targets(poses: condyle.Poses) -> None:
    targets = goals() * [3, -2, 3]
    solved = condyle.aim(LEG, poses, "foot", [0, 0, 2], targets, up=([0, 1, 0], [0, 1, 0]))
    model = placed(solved)[:, 2]
    way = targets - model[..., 3]
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    assert np.abs(model[..., 2] - way).max() < 1e-5
    assert np.abs(model[..., 0] @ [0, 1, 0]).max() < 1e-5


@pytest.mark.parametrize("method", ["least_squares", "cyclic_descent", "fabrik"])
def test_chains_reach_their_goals(method: Any, poses: condyle.Poses) -> None:
    wanted = goals()
    solved = condyle.chain(LEG, poses, NAMES[:3], wanted, method=method, iterations=500, threads=None)
    assert np.linalg.norm(placed(solved)[:, 2, :, 3] - wanted, axis=-1).max() < 2e-4
    read_only = condyle.Poses(*(it.view() for it in poses))
    for it in read_only:
        it.flags.writeable = False
    again = condyle.chain(LEG, read_only, [0, 1, 2], wanted, method=method, iterations=500)
    assert np.array_equal(again.rotations, solved.rotations)


WRONG: list[tuple[str, Callable[[condyle.Poses], object]]] = [
    ("no joint is named", lambda p: condyle.two_bone(LEG, p, ["hip", "elbow", "foot"], [0, 0, 0])),
    ("a joint must be a name or an index below 4, got 4", lambda p: condyle.aim(LEG, p, 4, [0, 0, 1], [0, 0, 0])),
    ("a joint must be a name or an index below 4, got -1", lambda p: condyle.chain(LEG, p, [-1], [0, 0, 0])),
    (r"goals must have shape \(3,\) or \(40, 3\), got \(7, 3\)", lambda p: condyle.two_bone(LEG, p, [0, 1, 2], np.zeros((7, 3)))),
    (r"poles must have shape .*, got \(4,\)", lambda p: condyle.two_bone(LEG, p, [0, 1, 2], [0, 0, 0], poles=[0, 0, 0, 1])),
    (
        "method must be .*, got \"x\"",
        lambda p: condyle.chain(LEG, p, [0], [0, 0, 0], method="x"),  # type: ignore[arg-type]
    ),
    (
        "index below 4, got 1.5",
        lambda p: condyle.aim(LEG, p, 1.5, [0, 0, 1], [0, 0, 0]),  # type: ignore[arg-type]
    ),
    ("iterations must be 0 to 65535, got 100000", lambda p: condyle.chain(LEG, p, [0], [0, 0, 0], iterations=100_000)),
    ("joints is empty", lambda p: condyle.chain(LEG, p, [], [0, 0, 0])),
    ("frame 0", lambda p: condyle.two_bone(LEG, p, [2, 1, 0], [0, 0, 0])),
    (
        r"poses.rotations must have shape \(..., 4, 4\), got \(2, 4\)",
        lambda p: condyle.aim(LEG, [it[0, :2] for it in p], 0, [0, 0, 1], [0] * 3),  # type: ignore[arg-type]
    ),
    ("shares memory|out", lambda p: condyle.two_bone(LEG, p, [0, 1, 2], [0, 0, 0], out=p)),
]


@pytest.mark.parametrize(("words", "call"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said(words: str, call: Callable[[condyle.Poses], object], poses: condyle.Poses) -> None:
    with pytest.raises(condyle.Error, match=words):
        call(poses)
