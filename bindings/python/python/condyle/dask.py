"""Run the jobs of `condyle.jobs` on Dask: one task per shard, and one that joins the results.

    condyle.dask.delayed(condyle.jobs.Pose("/shared/motion.condyle", "/shared/posed")).compute()

Requires ``pip install dask distributed``. All machines must see the library and the output folder at the same
paths.
"""

from __future__ import annotations

import importlib
from typing import Any

from condyle.jobs import Job, Shard, do, finish

__all__ = ["delayed"]


def delayed(job: Job) -> Any:
    """Return a `dask.delayed.Delayed` of the manifest. Its `compute()` runs the job on the active scheduler.

    If a worker dies, another one repeats its task.
    """
    try:
        lazy = importlib.import_module("dask.delayed").delayed
    except ImportError as error:
        raise ImportError("condyle.dask needs Dask: pip install dask distributed") from error
    shards = job.plan()
    made = [lazy(do, traverse=False)(job, shard) for shard in shards]
    return lazy(_finish)(job, shards, made)


def _finish(job: Job, shards: list[Shard], made: list[int]) -> dict[str, Any]:
    """Finishes the job. `made` makes this task depend on all shards."""
    return finish(job, shards)
