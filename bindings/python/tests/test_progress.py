"""Progress bars receive each step once, and their exceptions end the call."""

from __future__ import annotations

from pathlib import Path

import condyle
import numpy as np
import pytest
from condyle import jobs
from conftest import TESTDATA
from killed import DeadlyMeasure, PER_SHARD, deaths, library

MODEL = condyle.open(TESTDATA / "two_joints.glb")
TIMES = np.linspace(0, 1.5, 200_000)


class Bar:
    """Progress bar with the interface of tqdm."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.told: list[int] = []
        self.fails_after = fails_after

    def update(self, n: int, /) -> None:
        self.told.append(n)
        if len(self.told) == self.fails_after:
            raise RuntimeError("enough")


@pytest.mark.parametrize("threads", [1, 2])
def test_frames_are_told(threads: int) -> None:
    bar = Bar()
    found = MODEL.skin(0, TIMES, threads=threads, progress=bar)
    assert sum(bar.told) == len(TIMES) and min(bar.told) > 0
    assert np.array_equal(found, MODEL.skin(0, TIMES))


def test_clips_are_told() -> None:
    bar = Bar()
    clip = MODEL.encode(0, progress=bar)
    assert sum(bar.told) == 100 and clip.to_bytes() == MODEL.encode(0).to_bytes()
    bar = Bar()
    MODEL.clips[0].encode(shell=0.03, progress=bar)
    assert sum(bar.told) == 100
    bar = Bar()
    assert MODEL.pack(progress=bar) == MODEL.pack() and sum(bar.told) == 100 * len(MODEL.clips)


def test_what_a_bar_raises_ends_the_call() -> None:
    with pytest.raises(RuntimeError, match="enough"):
        MODEL.skin(0, np.zeros(3_000_000), threads=2, progress=Bar(1))
    for bar in (3, True):
        with pytest.raises(TypeError, match=f"progress must have an update method, such as a tqdm bar, got {type(bar).__name__}"):
            MODEL.skin(0, TIMES, progress=bar)  # type: ignore[call-overload]
    with pytest.raises(condyle.Error, match="frame 0|budget"):
        MODEL.encode(0, -1, progress=Bar())


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_are_told(workers: int, tmp_path: Path) -> None:
    condyle.join(tmp_path / "motion.condyle", [MODEL.encode(0).to_bytes()] * 5)
    job = jobs.Measure(str(tmp_path / "motion.condyle"), str(tmp_path / "out"), per_shard=2)
    bar = Bar()
    jobs.run(job, workers, progress=bar)
    assert sum(bar.told) == len(job.plan()) == 3
    fresh = jobs.Measure(job.source, str(tmp_path / "fresh"), per_shard=2)
    with pytest.raises(RuntimeError, match="enough"):
        jobs.run(fresh, workers, progress=Bar(1))


def test_shards_of_workers_that_die_are_told_once(tmp_path: Path) -> None:
    bar = Bar()
    job = DeadlyMeasure(str(library(tmp_path / "motion.condyle")), str(tmp_path / "out"), per_shard=PER_SHARD)
    jobs.run(job, 2, progress=bar)
    assert sum(bar.told) == len(job.plan()) and deaths(tmp_path / "out") == 2
