"""Arrays are used without a copy where possible, and errors name unsuitable arguments."""

from __future__ import annotations

import re
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import condyle
import numpy as np
import pytest
from conftest import TESTDATA

MODEL = condyle.open(TESTDATA / "two_joints.glb")
TIMES = np.linspace(0, 1.5, 4, dtype="f4")


def quaternions(*shape: int, seed: int = 1) -> np.ndarray[Any, Any]:
    q = np.random.default_rng(seed).normal(size=(*shape, 4)).astype("f4")
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda out: MODEL.joints("bend", TIMES, out=out), (4, 2, 3)),
        (lambda out: MODEL.matrices("bend", TIMES, out=out), (4, 2, 3, 4)),
        (lambda out: MODEL.skin("bend", TIMES, out=out), (4, 20, 3)),
        (lambda out: condyle.slerp(quaternions(9), quaternions(9, seed=2), 0.3, out=out), (9, 4)),
        (lambda out: condyle.to_matrices(quaternions(9), out=out), (9, 3, 4)),
        (lambda out: condyle.forward_kinematics([-1, 0], quaternions(5, 2), out=out), (5, 2, 3, 4)),
    ],
)
def test_out_is_written_in_place(call: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    out = np.full(shape, np.nan, "f4")
    got = call(out)
    assert got is out or got.ctypes.data == out.ctypes.data
    assert out.tobytes() == call(None).tobytes()
    part = np.full((2, *shape), np.nan, "f4")[1]
    assert call(part).ctypes.data == part.ctypes.data
    for wrong, said in [
        (np.zeros((*shape, 2), "f4"), f"out must be a C-contiguous float32 array of shape {shape}, got shape {(*shape, 2)}"),
        (np.zeros(shape, "f8"), f"out must be a C-contiguous float32 array of shape {shape}, got an array of float64"),
        (np.zeros(shape, "f4", order="F"), f"of shape {shape}, got a strided array"),
        ([0.0], f"of shape {shape}, got a list"),
    ]:
        with pytest.raises(condyle.Error, match=re.escape(said)):
            call(wrong)
    out.flags.writeable = False
    with pytest.raises(condyle.Error, match="out is read-only"):
        call(out)


def test_a_moment_is_the_same_whatever_was_asked_before_it() -> None:
    clip, times = MODEL.clips[0], np.random.default_rng(1).uniform(-0.5, 2, 50).astype("f4")
    together, joints = clip.sample(times, threads=2), MODEL.joints("bend", times, threads=2)
    for at, moment in enumerate(times):
        assert all(np.array_equal(a[at], b[0]) for a, b in zip(together, clip.sample([moment])))
        assert np.array_equal(joints[at], MODEL.joints("bend", [moment])[0])


def test_three_arrays_are_written_in_place() -> None:
    clip = MODEL.clips[0]
    want = clip.sample(TIMES)
    out = condyle.Poses(*(np.full_like(it, np.nan) for it in want))
    got = clip.sample(TIMES, out=out)
    for a, b, c in zip(got, out, want):
        assert a.ctypes.data == b.ctypes.data and b.tobytes() == c.tobytes()
    with pytest.raises(condyle.Error, match="out.translations must be a C-contiguous float32 array of shape"):
        clip.sample(TIMES, out=(out.rotations, out.rotations, out.scales))
    with pytest.raises(condyle.Error, match="out must be Poses"):
        clip.sample(TIMES, out=out.rotations)  # type: ignore[arg-type]
    vertices = condyle.Vertices(*(np.full((4, 20, n), np.nan, "f4") for n in (3, 3, 4)))
    skinned = MODEL.skin("bend", TIMES, normals=True, tangents=True, out=vertices)
    assert all(a is not None and a is b and np.isfinite(a).all() for a, b in zip(skinned, vertices))


def test_inputs_are_not_copied() -> None:
    a, b = quaternions(200_000), quaternions(200_000, seed=2)
    a.flags.writeable = False
    out = np.empty_like(a)
    tracemalloc.start()
    condyle.slerp(a, b, 0.5, out=out)
    taken, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000, "NumPy reports each array to tracemalloc"


def test_other_numbers_are_converted() -> None:
    a, b = quaternions(6, 5), quaternions(6, 5, seed=2)
    want = condyle.slerp(a, b, 0.25)
    wide = a.astype("f8")
    strided = np.asfortranarray(a)
    swapped = a.astype(">f4")
    unaligned = np.frombuffer(b"x" + a.tobytes(), "f4", offset=1, count=a.size).reshape(a.shape)
    for same in [wide, strided, swapped, unaligned, a.tolist()]:
        assert condyle.slerp(same, b, 0.25).tobytes() == want.tobytes()
    assert MODEL.joints(0, [0, 1]).tobytes() == MODEL.joints(0, np.array([0.0, 1.0])).tobytes()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MODEL.joints(0, 0.5), "times must have shape (T,), got ()"),
        (lambda: MODEL.joints(0, [[0.5]]), "times must have shape (T,), got (1, 1)"),
        (lambda: MODEL.joints(0, ["a"]), "times must be an array of real numbers, got dtype <U1"),
        (lambda: MODEL.joints(0, [1j]), "times must be an array of real numbers, got dtype complex128"),
        (lambda: MODEL.joints(0, [[1.0], [1.0, 2.0]]), "times must be an array of real numbers, got values that do not"),
        (lambda: MODEL.skin(0, [0.0, np.nan]), "times[1] must be finite, got NaN"),
        (lambda: MODEL.joints(0, [np.inf]), "times[0] must be finite, got inf"),
        (lambda: MODEL.joints("run", [0.0]), 'has no clip "run"; available clips: "bend"'),
        (lambda: MODEL.joints(0, [0.0], threads=0), "threads must be 1 to 1024 or None, got 0"),
        (lambda: condyle.slerp(quaternions(3), quaternions(4), 0.5), "b must have shape (3, 4) like a, got (4, 4)"),
        (lambda: condyle.slerp(quaternions(3)[:, :3], quaternions(3), 0.5), "a must have shape (..., 4), got (3, 3)"),
        (lambda: condyle.slerp(quaternions(3), quaternions(3), [0.5]), "t must have shape (3,) or be a single number, got (1,)"),
        (lambda: condyle.slerp(quaternions(3), quaternions(3), np.nan), "t must be a number, got NaN"),
        (lambda: condyle.interpolate(quaternions(3), quaternions(3), 0.5, method="lerp"), 'method "lerp": unknown name'),
        (lambda: condyle.forward_kinematics([-1, 2], quaternions(2)), "joint"),
        (lambda: condyle.forward_kinematics([-1, -2], quaternions(2)), "parents[1] must be -1 or the index of an earlier joint, got -2"),
        (lambda: condyle.forward_kinematics([-1], quaternions(2)), "rotations must have shape (..., 1, 4), got (2, 4)"),
        (
            lambda: condyle.forward_kinematics([-1, 0], quaternions(5, 2), np.zeros((4, 2, 3))),
            "translations must have shape (5, 2, 3) or (2, 3), got (4, 2, 3)",
        ),
        (lambda: condyle.Skeleton([-1], names=[]), "names must have one element per joint (1), got 0"),
        (lambda: MODEL.clips[0].to_bytes(), 'the clip "bend" is not compressed'),
    ],
)
def test_what_is_wrong_is_named(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(condyle.Error, match=re.escape(said)):
        call()


def test_an_argument_is_no_place_for_the_result() -> None:
    a = quaternions(8)
    with pytest.raises(condyle.Error, match="out shares memory with an argument"):
        condyle.slerp(a, a, 0.5, out=a)


def test_what_is_no_clip_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="clip must be an index, a name, a Clip or None, got float"):
        MODEL.joints(0.5, [0.0])  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="clip 1 of 1"):
        MODEL.joints(1, [0.0])


def test_a_clip_without_a_mesh_needs_a_shell() -> None:
    with pytest.raises(TypeError, match="required keyword argument: 'shell'"):
        MODEL.clips[0].encode(1e-3)  # type: ignore[call-arg]
    assert MODEL.joints(-1, [0.0]).tobytes() == MODEL.joints(MODEL.clips[0], [0.0]).tobytes()


def test_no_frames_are_no_error() -> None:
    assert MODEL.joints(0, []).shape == (0, 2, 3)
    assert MODEL.skin(0, np.zeros(0)).shape == (0, 20, 3)
    assert condyle.slerp(np.zeros((0, 4)), np.zeros((0, 4)), 0.5).shape == (0, 4)
    assert condyle.forward_kinematics([], np.zeros((3, 0, 4))).shape == (3, 0, 3, 4)


def test_more_than_there_is_memory_for_is_an_exception() -> None:
    times = np.broadcast_to(np.float32(0), (1 << 40,))
    with pytest.raises(MemoryError):
        MODEL.skin(0, times)


def test_other_threads_run_meanwhile() -> None:
    a, b = quaternions(300_000), quaternions(300_000, seed=2)
    out = np.empty_like(a)
    usual = sys.getswitchinterval()
    # Long switch interval, so that the other thread runs only while the call releases the interpreter lock.
    sys.setswitchinterval(1000)
    try:
        assert any(runs_beside(lambda: condyle.interpolate(a, b, 0.3, method="exact", out=out)) for _ in range(20))
    finally:
        sys.setswitchinterval(usual)


def runs_beside(call: Callable[[], Any]) -> bool:
    """Whether this thread ran between the begin and the end of a call on another thread. On a busy machine it
    may not.
    """
    events: list[str] = []

    def work() -> None:
        events.append("begun")
        call()
        events.append("ended")

    thread = threading.Thread(target=work)
    thread.start()
    while not events:
        time.sleep(1e-4)
    seen = list(events)
    thread.join()
    return seen == ["begun"]


def test_views_of_one_buffer_are_no_result_of_each_other() -> None:
    buffer = bytearray(16016)
    a = np.frombuffer(buffer, "f4", 4000).reshape(1000, 4)
    b = np.frombuffer(buffer, "f4", 4000, 16).reshape(1000, 4)
    with pytest.raises(condyle.Error, match="out shares memory with a;"):
        condyle.slerp(a, a, 0.5, out=b)
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0]
    shared = np.zeros(64, "f4")
    rows = [np.frombuffer(shared.data, "f4", 2 * width).reshape(1, 2, width) for width in (4, 3, 3)]
    with pytest.raises(condyle.Error, match="the arrays of out share memory"):
        clip.sample([0.0], out=(rows[0], rows[1], rows[2]))


def test_odd_numbers_are_named() -> None:
    with pytest.raises(condyle.Error, match="threads must be 1 to 1024 or None, got -1"):
        condyle.open(TESTDATA / "two_joints.glb").joints(0, [0.0], threads=-1)
    with pytest.raises(condyle.Error, match="t must hold numbers, got NaN at element 1"):
        condyle.nlerp(np.eye(4)[:2], np.eye(4)[:2], [0.5, np.nan])
    # No joints, and a huge number of frames.
    assert condyle.forward_kinematics([], np.empty((2**40, 0, 4), "f4")).shape == (2**40, 0, 3, 4)


def test_clips_of_other_skeletons_are_not_encoded() -> None:
    one, other = (condyle.open(TESTDATA / f"{name}.glb") for name in ("two_joints", "ancestors"))
    with pytest.raises(condyle.Error, match="belongs to a different skeleton"):
        other.encode(one.clips[0])
