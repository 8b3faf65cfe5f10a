"""Run the jobs of `condyle.jobs` on Ray: a Ray Data pipeline of actors that compute shards.

    condyle.ray.run(condyle.jobs.Pose("/shared/motion.condyle", "/shared/posed"), workers=64)

Requires ``pip install "ray[data]"``. All machines must see the library and the output folder at the same
paths.
"""

from __future__ import annotations

import importlib
from typing import Any

from condyle.jobs import Job, Shard, do, finish

__all__ = ["Maker", "run"]


class Maker:
    """Actor for `map_batches`. It receives batches of shard indices, and returns them when the shards are
    finished.
    """

    def __init__(self, job: Job, shards: list[Shard]) -> None:
        self.job, self.shards = job, shards

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        for at in batch["item"]:
            do(self.job, self.shards[at])
        return batch


def run(job: Job, workers: int, **options: Any) -> dict[str, Any]:
    """Run a job with `workers` actors, and return the contents of the manifest.

    `options` are passed to `map_batches`, for example ``num_cpus``. An actor that dies is restarted and
    repeats its shard.
    """
    try:
        data = importlib.import_module("ray.data")
    except ImportError as error:
        raise ImportError('condyle.ray needs Ray Data: pip install "ray[data]"') from error
    shards = job.plan()
    # The input is materialised before actors start. A task that creates it later would wait for a CPU held by
    # actors.
    numbers = data.from_items([shard.at for shard in shards], override_num_blocks=len(shards))
    pool = data.ActorPoolStrategy(size=min(workers, len(shards)))
    made = numbers.map_batches(Maker, fn_constructor_args=(job, shards), batch_size=1, compute=pool, **options)
    for _ in made.iter_batches():
        pass
    return finish(job, shards)
