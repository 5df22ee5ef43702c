"""The page on adding a rule runs as written."""

import re
from pathlib import Path


def test_the_code_on_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "add-a-score.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {"__name__": "page"})
