"""The fixtures: the network, and a browser for each file of tests, because a live page may go on for a while."""

import os
from pathlib import Path

import network
import pytest
from browser import chromium_options, start_chromium
from replay import Replay

# Chromium asks for names of its maker on its own account.
NO_MAKER = "host-resolver-rules=" + ",".join(
    f"MAP *.{domain} ~NOTFOUND" for domain in ("google.com", "googleapis.com", "gstatic.com", "gvt1.com"))


@pytest.fixture(scope="session", autouse=True)
def alone():
    network.prepare()


@pytest.fixture(scope="module")
def driver(alone):
    options = chromium_options("no-proxy-server", NO_MAKER)
    # Some hostile documents are never complete.
    options.page_load_strategy = "none"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = start_chromium(options)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "deny"})
    yield driver
    driver.quit()


@pytest.fixture
def replay(driver):
    pictures = Path(os.environ["PICTURES"])
    pictures.mkdir(parents=True, exist_ok=True)
    replay = Replay(driver, pictures)
    yield replay
    replay.visit("about:blank")
