"""Expensive runs on Dask workers; here of this machine, on a cluster with another `cluster`.

python examples/dask_workers.py [DIRECTORY]          needs mflno[dask]

On Slurm: Dask(slots=4, cluster="slurm", options={"queue": "long", "walltime": "12:00:00"}).
With a scheduler that stands already: Dask(slots=4, address="tcp://host:8786").
"""

import sys

import mflno
from mflno.campaign import Dask

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "duffing"
    plan = mflno.Plan("duffing", budget=7, method="pod-gp", pool="study", lower="study")
    campaign = mflno.Campaign(folder, plan=plan)
    print(campaign.run(runner=Dask(slots=2)))
    for run in campaign.history.runs:
        print(run.name, run.case, run.state, f"{run.seconds:.2f} s")
