"""Chromium, and the page in it, by what a person sees: labels, buttons, words."""

import os
from contextlib import contextmanager
from pathlib import Path

import axe_playwright_python
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
DESKTOP = (1280, 860)
PHONE = (360, 740)


def start_chromium():
    """A browser that speaks to nobody but this machine."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "headless=new", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
        "disable-dev-shm-usage", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:
        # Chromium's own sandbox does not start for root.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Page:
    """The dashboard of a server. Whatever is looked for is waited for."""

    def __init__(self, driver, pictures):
        self.driver = driver
        self._pictures = pictures
        self._server = None

    def open(self, server, address="#/overview", size=DESKTOP, dark=False, calm=True):
        """Loads the page anew, with nothing that was kept before."""
        self._server = server
        self.show_as(size, dark, calm)
        self.driver.get("about:blank")
        self.driver.get(server.url + "/" + address)
        self.find("main h1")

    def show_as(self, size=DESKTOP, dark=False, calm=True):
        """As a device of that size shows it, whose user likes it dark, or without motion."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if calm else "no-preference",
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in features.items()]})

    def go(self, address):
        """Follows an address within the page, as a link does."""
        self.driver.execute_script("location.hash = arguments[0]", address)

    def entry(self, key):
        """Goes to the page of an entry."""
        self.driver.execute_script("location.hash = '#/entry/' + encodeURIComponent(arguments[0])", key)
        self.find(".countdown")

    # What is there

    def wait(self, condition, words):
        """Waits until a condition holds, and returns what it returns."""
        waiting = WebDriverWait(
            self.driver, 30, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException])
        return waiting.until(lambda driver: condition(), f"this did not come: {words}")

    def find(self, selector):
        """The first element that can be seen."""
        return self.wait(
            lambda: next((found for found in self.all(selector) if found.is_displayed()), None), selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [element.text for element in self.all(selector)]

    def button(self, name, within="//body"):
        """A button, by what it says or is called."""
        path = f"{within}//button[normalize-space()=\"{name}\" or @aria-label=\"{name}\"]"
        return self.wait(lambda: next(
            (found for found in self.driver.find_elements(By.XPATH, path) if found.is_displayed()), None), name)

    def link(self, name):
        path = f"//a[normalize-space()=\"{name}\"]"
        return self.wait(lambda: next(
            (found for found in self.driver.find_elements(By.XPATH, path) if found.is_displayed()), None), name)

    def field(self, label):
        """What a label is for."""
        path = f"//label[@for][normalize-space()=\"{label}\"]"
        found = self.wait(lambda: next(iter(self.driver.find_elements(By.XPATH, path)), None), label)
        return self.driver.find_element(By.ID, found.get_attribute("for"))

    def type(self, label, text):
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def wait_for_text(self, selector, text):
        """Waits for an element that says this, among other things."""
        return self.wait(
            lambda: next((found for found in self.all(selector) if text in found.text), None), f"{selector}: {text}")

    def value(self, script, *arguments):
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(script, *arguments)

    @contextmanager
    def script_before(self, script):
        """Runs a script in each document that is loaded meanwhile, before its own."""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    # What is wrong with it

    def complaints(self):
        """What the console says of errors and of breaches of the policy, but not that the server answered 4xx."""
        return [entry for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and entry["source"] != "network"]

    def overflow(self):
        """By how many pixels the page is wider than its window."""
        return self.value("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def barriers(self):
        """What axe-core finds."""
        self.driver.execute_script(AXE)
        results = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run({runOnly: arguments[0]}).then(done, (error) => done(String(error)))",
            RULES)
        assert isinstance(results, dict), results
        return [f"{found['impact']}: {found['id']}, {found['help']}: {node['html'][:200]} {node['failureSummary']}"
                for found in results["violations"] for node in found["nodes"]]

    def picture(self, name):
        """Keeps what is to be seen, to be looked at."""
        self.driver.save_screenshot(str(self._pictures / f"{name}.png"))
