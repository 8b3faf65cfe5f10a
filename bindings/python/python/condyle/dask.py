"""Jobs of `condyle.jobs` on Dask: a task for each shard, and one that joins them.

    condyle.dask.delayed(condyle.jobs.Pose("/shared/motion.condyle", "/shared/posed")).compute()

Needs ``pip install dask distributed``. All machines see the library and the folder of the results at the same paths.
"""

from __future__ import annotations

import importlib
from typing import Any

from condyle.jobs import Job, Shard, do, finish

__all__ = ["delayed"]


def delayed(job: Job) -> Any:
    """A `dask.delayed.Delayed` of what the manifest says: `compute()` does the job by whatever scheduler there is.

    A task whose worker dies is done again by another one.
    """
    try:
        lazy = importlib.import_module("dask.delayed").delayed
    except ImportError as error:
        raise ImportError("condyle.dask needs Dask: pip install dask distributed") from error
    shards = job.plan()
    made = [lazy(do, traverse=False)(job, shard) for shard in shards]
    return lazy(_finish)(job, shards, made)


def _finish(job: Job, shards: list[Shard], made: list[int]) -> dict[str, Any]:
    """After all shards were made."""
    return finish(job, shards)
