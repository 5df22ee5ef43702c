"""The page in a real browser: a finished campaign, asked by slider, mouse and keyboard."""

import json
import re
import time

import numpy as np
import pytest

import mflno
from mflno.campaign import Campaign, Plan
from mflno.campaign.runners import Inline
from mflno.cli import main
from mflno.errors import SolveFailed, StoreError
from mflno.problems import Lorenz
from mflno.report import write_report


class Fragile(Lorenz):
    """Lorenz that breaks down in one corner; a text that would end a careless page."""

    def solve(self, case, level):
        if level == 1 and case[0] > 0.7 and case[1] > 6.8:
            raise SolveFailed("error", "</script><b id='broken'>diverged & stopped</b>")
        return super().solve(case, level)


def fragile():
    return Fragile()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("campaign") / "lorenz"
    monkey = pytest.MonkeyPatch()
    monkey.setenv("MFLNO_CACHE", str(where.parent / "cache"))
    source = f"{__file__}:fragile"
    plan = Plan(source, budget=9, method="pod-gp", lower="grid:4", pool="grid:12", retries=0)
    problem = Fragile()
    Campaign(where, source, plan).run(runner=Inline(problem), show=False)
    written = write_report(where)
    assert not written.missing
    yield where
    monkey.undo()


@pytest.fixture
def page(folder, chromium):
    chromium.width(1280)
    chromium.scheme("light")
    chromium.log("browser")
    chromium.log("performance")
    chromium.open(folder / "report.html")
    return chromium


def curve(page):
    found = page.run("return mflno.curve()")
    return {key: np.array(value) for key, value in found.items()}


def same_as_predict(folder, found):
    """Worst difference of mean and band from the surrogate, relative to their sizes."""
    surrogate = mflno.load(sorted(folder.glob("fits/*/surrogate.mflno"))[-1], Fragile())
    wanted = surrogate.predict(found["case"][None])
    low, high = (each[0, 0] for each in wanted.interval(0.95))
    size = lambda values: np.sqrt(np.mean(np.square(values)))
    off = size(found["mean"] - wanted.mean[0, 0]) / size(wanted.mean)
    edges = max(size(found["lower"] - low), size(found["upper"] - high))
    return off, edges / size(high - low)


def test_page_loads_without_errors_or_requests(page):
    assert page.log("browser") == []
    assert page.requests() == []
    assert page.run("return document.querySelectorAll('h1').length") == 1
    assert page.run("return document.getElementById('broken')") is None
    assert page.run("return document.body.textContent.includes('diverged & stopped')")


def test_page_is_small_and_quick(folder, page):
    assert (folder / "report.html").stat().st_size < 3e6
    # From the start of the navigation until everything is drawn and listens.
    assert page.run("return mflno.ready") < 2000


def test_sliders_change_the_curve_to_what_predict_gives(folder, page):
    before = curve(page)
    page.run(
        "const [a, rho] = document.querySelectorAll('input[type=range]');"
        "a.value = 0.83; a.dispatchEvent(new Event('input'));"
        "rho.value = 5.45; rho.dispatchEvent(new Event('input'));"
    )
    found = curve(page)
    np.testing.assert_allclose(found["case"], [0.83, 5.45], atol=0.004)
    assert np.abs(found["mean"] - before["mean"]).max() > 0.1
    off, edges = same_as_predict(folder, found)
    assert off < 1e-3
    assert edges < 0.05
    drawn = page.run("return document.querySelector('.chart .series').getAttribute('d')")
    assert drawn.count("L") == len(found["mean"]) - 1


def test_curve_agrees_with_predict_all_over_the_box(folder, page):
    cases = np.random.default_rng(2).uniform([0.01, 5.0], [1.0, 8.0], (12, 2))
    for case in cases:
        page.run(f"mflno.set({case.tolist()})")
        off, edges = same_as_predict(folder, curve(page))
        assert off < 1e-3
        assert edges < 0.1


def test_arrow_keys_move_the_case(page):
    before = curve(page)["case"]
    page.run("document.querySelector('.plane svg').focus()")
    page.press("ArrowRight")
    page.press("ArrowUp", shift=True)
    moved = curve(page)["case"] - before
    np.testing.assert_allclose(moved, [0.01 * 0.99, 0.1 * 3.0], rtol=1e-6)
    assert page.run("return document.activeElement.closest('.plane') !== null")


def test_a_click_on_a_run_lays_it_over_the_prediction(folder, page):
    page.run("document.querySelector('td button').click()")
    texts = page.run(
        "return [...document.querySelectorAll('.legend li')].map(e => e.textContent)"
    )
    assert "the run itself" in texts
    found = curve(page)
    runs = mflno.campaign.read_campaign(folder).trajectories()
    row = np.abs(runs.cases - found["case"]).sum(1).argmin()
    np.testing.assert_allclose(runs.cases[row], found["case"], rtol=1e-9)


def test_colour_of_the_plane_is_the_spread_of_each_round(folder, page):
    page.run("mflno.set([0.4, 6.1])")
    for number, file in enumerate(sorted(folder.glob("fits/*/surrogate.mflno"))):
        wanted = mflno.load(file, Fragile()).predict([[0.4, 6.1]]).std.mean()
        assert page.run(f"return mflno.score({number})") == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_page_fits_phone_and_desk_in_both_schemes(page, width, scheme):
    page.width(width)
    page.scheme(scheme)
    time.sleep(0.2)
    assert page.run("return document.documentElement.scrollWidth") <= width
    ink, paper = (
        [int(x) for x in re.findall(r"\d+", page.run(
            f"return getComputedStyle(document.body).{name}"))[:3]]
        for name in ("color", "backgroundColor")
    )  # fmt: skip
    assert (sum(ink) < sum(paper)) == (scheme == "light")


def test_all_that_can_be_used_has_a_name_and_is_reached_by_tab(page):
    nameless = page.run(
        "return [...document.querySelectorAll('input,button,select,svg[role],[tabindex]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() ||"
        " (e.labels && e.labels.length))).map(e => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    seen = set()
    for _ in range(14):
        page.press("Tab")
        seen.add(page.run("return document.activeElement.tagName.toLowerCase()"))
    assert {"a", "svg", "input", "button"} <= seen


def test_failures_and_rounds_are_told(folder):
    text = (folder / "report.html").read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    failed = [event for event in mflno.campaign.read_campaign(folder).events
              if event["event"] == "failed"]  # fmt: skip
    runs = next(block for block in data["blocks"] if block["title"] == "Runs")
    assert len(failed) > 0
    assert len(runs["items"][-1]["rows"]) == len(failed)
    assert len(data["explore"]["rounds"]) == len(list(folder.glob("fits/*")))


def test_command_writes_page_and_figures(folder, tmp_path, capsys):
    page = tmp_path / "deep" / "page.html"
    assert main(["report", str(folder), "--out", str(page), "--nodes", "200", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == page.stat().st_size
    kinds = sorted(path.rpartition(".")[2] for path in told["figures"])
    assert kinds == ["png", "png", "svg", "svg"]


def test_a_folder_without_a_campaign_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no campaign in here"):
        write_report(tmp_path)
