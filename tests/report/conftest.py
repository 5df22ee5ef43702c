import pytest

from .browser import CHROMIUM, DRIVER, browser


@pytest.fixture(scope="session")
def chromium():
    if not (CHROMIUM and DRIVER):
        pytest.skip("no Chromium with its driver here")
    with browser() as found:
        yield found
