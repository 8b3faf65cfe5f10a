"""Jobs of `condyle.jobs` on Ray: a Ray Data pipeline of actors that each make shards.

    condyle.ray.run(condyle.jobs.Pose("/shared/motion.condyle", "/shared/posed"), workers=64)

Needs ``pip install "ray[data]"``. All machines see the library and the folder of the results at the same paths.
"""

from __future__ import annotations

import importlib
from typing import Any

from condyle.jobs import Job, Shard, do, finish

__all__ = ["Maker", "run"]


class Maker:
    """What `map_batches` makes an actor of: batches of numbers of shards go in, and come out when these are made."""

    def __init__(self, job: Job, shards: list[Shard]) -> None:
        self.job, self.shards = job, shards

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        for at in batch["item"]:
            do(self.job, self.shards[at])
        return batch


def run(job: Job, workers: int, **options: Any) -> dict[str, Any]:
    """Does a job with so many actors, and returns what its manifest says. `options` are those of `map_batches`, such as ``num_cpus``.

    An actor that dies is started again, and makes the shard again that it was at.
    """
    try:
        data = importlib.import_module("ray.data")
    except ImportError as error:
        raise ImportError('condyle.ray needs Ray Data: pip install "ray[data]"') from error
    shards = job.plan()
    # They lie in memory before there are actors: a task that has yet to make them would wait for a CPU that actors hold.
    numbers = data.from_items([shard.at for shard in shards], override_num_blocks=len(shards))
    pool = data.ActorPoolStrategy(size=min(workers, len(shards)))
    made = numbers.map_batches(Maker, fn_constructor_args=(job, shards), batch_size=1, compute=pool, **options)
    for _ in made.iter_batches():
        pass
    return finish(job, shards)
