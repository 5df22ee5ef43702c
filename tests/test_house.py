"""The house rules that no linter knows."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mflno

FILES = sorted(Path(mflno.__file__).parent.rglob("*.py"))
FILE_LINES, FUNCTION_LINES, CLASS_METHODS = 350, 40, 10
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def span(node):
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def own_lines(function):
    """Lines of the body, without its docstring and without nested functions."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    lines = set().union(*map(span, body)) if body else set()
    nested = (n for n in ast.walk(function) if isinstance(n, FUNCTIONS) and n is not function)
    return len(lines.difference(*map(span, nested)))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_sizes(path):
    text = path.read_text()
    assert text.count("\n") <= FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTIONS):
            assert own_lines(node) <= FUNCTION_LINES, node.name
        if isinstance(node, ast.ClassDef):
            assert sum(isinstance(n, FUNCTIONS) for n in node.body) <= CLASS_METHODS, node.name


def test_import_is_quiet():
    code = "import torch, sys; t = torch.get_default_dtype(); import mflno; \
        assert torch.get_default_dtype() == t and 'matplotlib' not in sys.modules"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
