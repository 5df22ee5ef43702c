"""The code in README and docs runs.

A page is one namespace and one empty directory. The words behind a fence say what to do:

    ```python                  run it
    ```python no-run           leave it
    ```python needs=cc,skfem   run it, and the rest of the page, where programs and modules are
    ```toml file=plan.toml     write it into the directory, in whatever language
"""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w+)([^\n`]*)\n(.*?)^```\s*$", re.M | re.S)
WORDS = re.compile(r"no-run|needs=[\w.,-]+|file=[\w./-]+")


def blocks(page):
    """Language, words behind it, code, and first line of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield match[1], match[2].split(), match[3], text[: match.start(3)].count("\n")


def setting(words, name):
    return next((word.partition("=")[2] for word in words if word.startswith(f"{name}=")), "")


def is_there(need):
    return shutil.which(need) is not None or find_spec(need) is not None


def act(page, namespace, block):
    """Write, run or leave one block."""
    language, words, code, line = block
    target = setting(words, "file")
    if target:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).write_text(code, encoding="utf-8")
    elif language == "python" and "no-run" not in words:
        # Empty lines in front, so that a traceback names the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for block in blocks(page):
        needs = [need for need in setting(block[1], "needs").split(",") if need]
        missing = [need for need in needs if not is_there(need)]
        if missing:
            pytest.skip(f"the rest of the page needs {', '.join(missing)}")
        act(page, namespace, block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_words_behind_fences_are_known(page):
    for language, words, _, line in blocks(page):
        for word in words:
            assert WORDS.fullmatch(word), f"{page.name}:{line}: ```{language} {word}"


def test_examples_of_a_new_problem_have_fifteen_lines():
    page = ROOT / "docs" / "add-a-problem.md"
    codes = {setting(words, "file"): code for _, words, code, _ in blocks(page)}
    for name in ("swing.py", "swing.toml"):
        assert sum(bool(line.strip()) for line in codes[name].splitlines()) <= 15


def test_a_broken_page_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```python file=part/one.py\nx = 1\n```\n```python no-run\nraise ValueError\n```\n"
        "```python\nimport pathlib; y = pathlib.Path('part/one.py').read_text()\n```\n"
        "```python\n\nraise KeyError(y)\n```\n"
    )
    *good, bad = blocks(page)
    namespace = {}
    for block in good:
        act(page, namespace, block)
    with pytest.raises(KeyError, match="x = 1") as caught:
        act(page, namespace, bad)
    assert caught.traceback[-1].lineno == 11
