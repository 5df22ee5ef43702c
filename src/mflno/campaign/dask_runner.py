"""Runs on Dask workers: of this machine, of a standing scheduler, or of Slurm and PBS jobs.

Dask alone is not enough: it starts a task again when a worker dies with a result that nobody
has fetched, and forgets everything when its scheduler dies. So a task's result is the run's
sealed folder, which all workers must see; a task that finds it sealed is done at once.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mflno.campaign.task import Job, perform
from mflno.errors import ArgumentError, MflnoError, MissingExtra, StoreError
from mflno.store import fail_run, find_run, start_run

CLUSTERS = "local", "slurm", "pbs"
PATIENCE = 10.0
"""Seconds to wait for a scheduler that does not answer."""


def modules() -> tuple[Any, Any]:
    """Dask and distributed, or the error that names the extra."""
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingExtra("distributed", extra="dask", purpose="the Dask runner") from error
    return dask, distributed


class Dask:
    """A runner on Dask workers.

    Args:
        slots: Runs at once; workers of a cluster that is made here.
        cluster: `local`, `slurm` or `pbs`: what to make when no address is given.
        address: A standing scheduler, as `tcp://host:8786`, or its scheduler file. Runs there
            go on when this process dies, and are found again when the campaign is resumed.
        options: For the cluster: `{"queue": "long", "memory": "8GB", "walltime": "12:00:00"}`.
    """

    def __init__(
        self,
        slots: int = 1,
        *,
        cluster: str = "local",
        address: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        dask, self.distributed = modules()
        self.slots = slots
        # A solver that keeps a worker busy for longer than this would be started again.
        dask.config.set({"distributed.scheduler.worker-ttl": None})
        self.cluster = None if address else cluster_of(cluster, slots, dict(options or {}))
        self.standing = address is not None
        try:
            self.client = self._client(address)
        except BaseException:
            if self.cluster is not None:
                self.cluster.close()
            raise
        self.work: dict[Any, Job] = {}
        self.ready: list[Job] = []

    def _client(self, address: str | None) -> Any:  # noqa: ANN401
        place = {"scheduler_file": address} if is_file(address) else {"address": address}
        if self.cluster is not None:
            place = {"address": self.cluster}
        try:
            return self.distributed.Client(**place, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise gone(address or "of the cluster", error) from error

    def submit(self, job: Job) -> None:
        """Hand the run to the scheduler, under a key that is the same for every driver."""
        if find_run(job.runs, job.name):
            self.ready.append(job)
            return
        digest = hashlib.sha256(job.root.encode()).hexdigest()[:12]
        future = self.client.submit(perform, job, key=f"mflno-{digest}-{job.name}", pure=False)
        if self.standing:
            self.distributed.fire_and_forget(future)
        self.work[future] = job

    def ended(self, timeout: float) -> list[Job]:
        """Runs whose task is done."""
        back, self.ready = self.ready, []
        if back or not self.work:
            return back
        try:
            with self.client.as_current():
                waited = self.distributed.wait(
                    list(self.work), timeout=timeout, return_when="FIRST_COMPLETED"
                )
            done = waited.done
        except TimeoutError:
            self._check_alive()
            return []
        except (OSError, self.distributed.CancelledError) as error:
            raise gone(self._address(), error) from error
        for future in done:
            job = self.work.pop(future)
            self._check(job, future)
            back.append(job)
        return back

    def _check_alive(self) -> None:
        """Raise when the scheduler does not answer any more."""
        if self.client.status != "running":
            raise gone(self._address(), self.client.status)

    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", "of the cluster"))

    def _check(self, job: Job, future: Any) -> None:  # noqa: ANN401
        """Raise what a task raised, unless the run is there all the same."""
        if find_run(job.runs, job.name):
            return
        if future.status in ("cancelled", "lost"):
            raise gone(self._address(), future.status)
        error = future.exception() if future.status == "error" else None
        if isinstance(error, self.distributed.KilledWorker):
            work = start_run(job.runs, job.name, job.spec)
            detail = "every worker that took it died"
            fail_run(work, "signal", detail, seconds=0.0, cost=job.spec["cost"])
        elif isinstance(error, MflnoError):
            raise error
        elif error is not None:
            text = f"run {job.name}: its task failed: {type(error).__name__}: {error}"
            raise StoreError(f"{text}; do all workers see {job.root}?") from error

    def close(self) -> None:
        """Let go; runs on a standing scheduler go on, those of our own workers end."""
        self.work.clear()
        self.client.close(timeout=5)
        if self.cluster is not None:
            self.cluster.close(timeout=10)


def is_file(address: str | None) -> bool:
    """Whether a scheduler is named by the file it wrote."""
    return address is not None and "://" not in address and Path(address).is_file()


def gone(address: str, error: object) -> StoreError:
    """The error of a scheduler that is not there."""
    text = f"the Dask scheduler {address} does not answer ({error})"
    return StoreError(f"{text}; finished runs are kept; start it and repeat the same line")


def cluster_of(kind: str, slots: int, options: dict[str, Any]) -> Any:  # noqa: ANN401
    """A cluster with so many workers, one run each."""
    _, distributed = modules()
    if kind == "local":
        words = {"n_workers": slots, "threads_per_worker": 1, "dashboard_address": None}
        return distributed.LocalCluster(**{**words, **options})
    if kind not in CLUSTERS:
        rule = f"must be one of {', '.join(CLUSTERS)}"
        raise ArgumentError("Dask.cluster", rule, repr(kind), "or pass an address")
    try:
        from dask_jobqueue.pbs import PBSCluster
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError as error:
        raise MissingExtra("dask_jobqueue", extra="dask", purpose=f"{kind} jobs") from error
    make: Any = {"slurm": SLURMCluster, "pbs": PBSCluster}[kind]
    cluster = make(**{"cores": 1, "processes": 1, "memory": "4GB", **options})
    cluster.scale(jobs=slots)
    return cluster
