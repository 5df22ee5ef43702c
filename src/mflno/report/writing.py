"""A directory to its report: the page, and the figures beside it."""

from pathlib import Path
from typing import NamedTuple

from mflno.campaign import read_campaign
from mflno.errors import MissingExtra
from mflno.report.campaign_page import campaign_contents, marks, stages_of, studied
from mflno.report.figures import campaign_figures
from mflno.report.html import write_page
from mflno.report.packing import Axes
from mflno.report.study_page import is_study, study_contents


class Written(NamedTuple):
    """What was written, and what was not."""

    page: Path
    figures: list[Path]
    missing: str


def write_report(folder: Path | str, *, page: Path | None = None, most: int = 2200) -> Written:
    """Write the page of a campaign, with its figures, or of a study's results.

    Args:
        folder: A campaign's directory, or what `mflno reproduce` wrote.
        page: Where the page goes, by default `report.html` in the campaign's directory; the
            figures go into `figures` beside it.
        most: Predictions to make the page's own copy of the surrogate from, at most.

    Raises:
        StoreError: There is no campaign.
    """
    target = page or Path(folder) / "report.html"
    if is_study(Path(folder)):
        target.parent.mkdir(parents=True, exist_ok=True)
        return Written(write_page(target, study_contents(Path(folder))), [], "")
    study = studied(read_campaign(folder))
    target.parent.mkdir(parents=True, exist_ok=True)
    written = write_page(target, campaign_contents(study, most=most))
    last = study.last
    if last is None:
        return Written(written, [], "")
    axes = Axes.of(last)
    try:
        runs = marks(study.history)
        figures = campaign_figures(target.parent / "figures", axes, stages_of(study), runs)
    except MissingExtra as error:
        return Written(written, [], str(error))
    return Written(written, figures, "")
