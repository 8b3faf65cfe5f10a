"""Ctrl-C ends every long call, with or without a progress bar."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import condyle
import numpy as np
import pytest
from conftest import TESTDATA

MODEL = condyle.open(TESTDATA / "two_joints.glb")
BEND = MODEL.clips[0]
MOMENTS = np.tile(np.linspace(0, 1.5, 1000, dtype="f4"), 4000)


def long_clip(joints: int = 40, frames: int = 20_000) -> condyle.Clip:
    """Noise, which the encoder cannot fit well with curves."""
    random = np.random.default_rng(3)
    turns = random.normal(size=(frames, joints, 4)).astype("f4")
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    skeleton = condyle.Skeleton(range(-1, joints - 1), translations=np.ones((joints, 3)))
    return condyle.Clip.from_poses(skeleton, np.arange(frames) / 30, turns)


def encoded() -> None:
    clip = long_clip()
    began.set()
    clip.encode(1e-3, shell=0.03, best=True)


def sampled(threads: int) -> None:
    out = BEND.sample(MOMENTS[:1])
    shape = (len(MOMENTS), len(BEND.skeleton))
    out = condyle.Poses(*(np.empty((*shape, width), "f4") for width in (4, 3, 3)))
    began.set()
    while True:
        BEND.sample(MOMENTS, out=out, threads=threads)


def of_library(path: Path) -> None:
    condyle.join(path, [BEND.encode(shell=0.03).to_bytes()])
    library, indices = condyle.Library(path), np.zeros(len(MOMENTS), "i8")
    began.set()
    while True:
        library.sample(indices, MOMENTS)


def rendered() -> None:
    began.set()
    MODEL.render("bend", np.linspace(0, 1, 2000), size=(200, 200))


def compared() -> None:
    other = MODEL.with_clips([MODEL.encode("bend")])
    began.set()
    condyle.compare(MODEL, other, fps=500_000)


def saved(path: Path) -> None:
    film = condyle.Picture(np.random.default_rng(1).integers(0, 255, (60, 400, 400, 3), "u1"))
    began.set()
    film.save(path)


began = threading.Event()


@pytest.mark.parametrize("name", ["encoded", "sampled", "sampled on threads", "library", "rendered", "compared", "saved"])
def test_calls_end(name: str, tmp_path: Path) -> None:
    calls: dict[str, Callable[[], None]] = {
        "encoded": encoded,
        "sampled": lambda: sampled(1),
        "sampled on threads": lambda: sampled(2),
        "library": lambda: of_library(tmp_path / "a.condyle"),
        "rendered": rendered,
        "compared": compared,
        "saved": lambda: saved(tmp_path / "film.gif"),
    }
    # A shell starts programs in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began.clear()
    at = 0.0

    def interrupt() -> None:
        nonlocal at
        began.wait(60)
        time.sleep(0.3)
        at = time.monotonic()
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        calls[name]()
    took = time.monotonic() - at
    thread.join()
    # 1/20 s, plus delays of a busy machine.
    assert took < 1.0, took
    print(f"{name}: {1000 * took:.0f} ms")
