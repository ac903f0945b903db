"""The fixtures: one browser for all tests, and an origin and a server for each test."""

import os
from pathlib import Path

import pytest
from browser import start_chromium
from dashboard import Dashboard
from origin import Origin
from server import Server


@pytest.fixture(scope="session")
def driver():
    driver = start_chromium()
    yield driver
    driver.quit()


@pytest.fixture
def origin():
    origin = Origin()
    yield origin
    origin.close()


@pytest.fixture
def server(origin):
    """A server without tokens, as on a developer's machine."""
    server = Server(origin)
    yield server
    server.stop()


@pytest.fixture
def page(driver):
    """The page. After each test, the page must have no complaints."""
    pictures = Path(os.environ["PICTURES"])
    pictures.mkdir(parents=True, exist_ok=True)
    page = Dashboard(driver, pictures)
    yield page
    complaints = page.complaints()
    driver.get("about:blank")
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    assert complaints == []
