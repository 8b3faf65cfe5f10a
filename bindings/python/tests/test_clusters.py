"""Jobs on local Ray and Dask clusters of two workers each."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import condyle
import numpy as np
import pytest
from condyle import jobs
from killed import DeadlyEncode, DeadlyPose, PER_SHARD, bytes_of, deaths, library

PAIRS = [(jobs.Pose, DeadlyPose), (jobs.Encode, DeadlyEncode)]
_Pair = tuple[type[jobs.Job], type[jobs.Job]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("clusters") / "motion.condyle")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    # Workers import the jobs that die.
    found = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
    memory = 200 << 20
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=memory, log_to_driver=False, runtime_env=found)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.mark.parametrize("pair", PAIRS)
def test_ray(pair: _Pair, ray: Any, path: Path, tmp_path: Path) -> None:
    import condyle.ray

    want, found, killed = tmp_path / "want", tmp_path / "found", tmp_path / "killed"
    jobs.run(pair[0](str(path), str(want), per_shard=PER_SHARD))
    condyle.ray.run(pair[0](str(path), str(found), per_shard=PER_SHARD), workers=2)
    condyle.ray.run(pair[1](str(path), str(killed), per_shard=PER_SHARD), workers=2)
    assert bytes_of(found) == bytes_of(want) == bytes_of(killed) and deaths(killed) == 2


@pytest.mark.parametrize("pair", PAIRS)
def test_dask(pair: _Pair, client: Any, path: Path, tmp_path: Path) -> None:
    import condyle.dask

    want, found, killed = tmp_path / "want", tmp_path / "found", tmp_path / "killed"
    done = jobs.run(pair[0](str(path), str(want), per_shard=PER_SHARD))
    assert condyle.dask.delayed(pair[0](str(path), str(found), per_shard=PER_SHARD)).compute() == done
    condyle.dask.delayed(pair[1](str(path), str(killed), per_shard=PER_SHARD)).compute()
    assert bytes_of(found) == bytes_of(want) == bytes_of(killed) and deaths(killed) == 2


def turned(batch: dict[str, Any]) -> dict[str, Any]:
    """Sum of the matrices of a batch, and the peak NumPy allocation. A copy of the rotations would take
    320,000 bytes.
    """
    rotations, translations = batch["rotations"], batch["translations"]
    out = np.empty((*rotations.shape[:2], 3, 4), "f4")
    tracemalloc.start()
    condyle.forward_kinematics(range(-1, rotations.shape[1] - 1), rotations, translations, out=out)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"writeable": [rotations.flags.writeable], "most": [most], "sum": [float(out.sum())]}


def test_read_only_arrays_of_ray_are_not_copied(ray: Any) -> None:
    random = np.random.default_rng(3)
    rotations = random.normal(size=(500, 40, 4)).astype("f4")
    translations = random.normal(size=(500, 40, 3)).astype("f4")
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)

    want = condyle.forward_kinematics(range(-1, 39), rotations, translations)
    rows = [{"rotations": r, "translations": t} for r, t in zip(rotations, translations)]
    data = ray.data.from_items(rows, override_num_blocks=1)
    found = data.map_batches(turned, batch_size=None, zero_copy_batch=True).take_all()
    assert [it["writeable"] for it in found] == [False] and found[0]["most"] < 50_000
    assert found[0]["sum"] == pytest.approx(float(want.sum()))
    # An array in another memory order is copied, which this measurement detects.
    tracemalloc.start()
    condyle.forward_kinematics(range(-1, 39), np.asfortranarray(rotations), translations)
    assert tracemalloc.get_traced_memory()[1] > 320_000
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["ray", "dask"])
def test_what_is_missing_is_said(name: str, monkeypatch: pytest.MonkeyPatch, path: Path, tmp_path: Path) -> None:
    import condyle.dask
    import condyle.ray

    def nothing(module: str) -> None:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr("importlib.import_module", nothing)
    job = jobs.Pose(str(path), str(tmp_path))
    with pytest.raises(ImportError, match="pip install"):
        condyle.ray.run(job, 2) if name == "ray" else condyle.dask.delayed(job)
