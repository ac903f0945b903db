"""Chromium and the page in it, used through visible labels, buttons and texts."""

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


def chromium_options(*switches):
    """Returns the options of a browser without traffic of its own. `switches` are more switches, without dashes."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "headless=new", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
        "disable-dev-shm-usage", *switches,
    ):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:
        # Chromium's own sandbox does not start for root.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options


def start_chromium(options=None):
    """Starts a browser; without options, one that connects to this machine only."""
    options = options or chromium_options("host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Page:
    """The page in the browser's window. A search for an element waits until the element is there."""

    def __init__(self, driver, pictures):
        self.driver = driver
        self._pictures = pictures

    def show_as(self, size=DESKTOP, dark=False, calm=True):
        """Emulates a device of a size, with a preference for the dark theme or for reduced motion."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if calm else "no-preference",
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in features.items()]})

    # Elements of the page

    def wait(self, condition, words):
        """Waits until a condition holds. Returns the condition's value."""
        waiting = WebDriverWait(
            self.driver, 30, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException])
        return waiting.until(lambda driver: condition(), f"this did not come: {words}")

    def find(self, selector):
        """Returns the first visible element."""
        return self.wait(
            lambda: next((found for found in self.all(selector) if found.is_displayed()), None), selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [element.text for element in self.all(selector)]

    def button(self, name, within="//body"):
        """Returns a button by its text or its label."""
        path = f"{within}//button[normalize-space()=\"{name}\" or @aria-label=\"{name}\"]"
        return self.wait(lambda: next(
            (found for found in self.driver.find_elements(By.XPATH, path) if found.is_displayed()), None), name)

    def link(self, name):
        path = f"//a[normalize-space()=\"{name}\"]"
        return self.wait(lambda: next(
            (found for found in self.driver.find_elements(By.XPATH, path) if found.is_displayed()), None), name)

    def field(self, label):
        """Returns the field of a label."""
        path = f"//label[@for][normalize-space()=\"{label}\"]"
        found = self.wait(lambda: next(iter(self.driver.find_elements(By.XPATH, path)), None), label)
        return self.driver.find_element(By.ID, found.get_attribute("for"))

    def type(self, label, text):
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def wait_for_text(self, selector, text):
        """Waits for an element that contains a text."""
        return self.wait(
            lambda: next((found for found in self.all(selector) if text in found.text), None), f"{selector}: {text}")

    def value(self, script, *arguments):
        """Runs a piece of JavaScript. Returns its value."""
        return self.driver.execute_script(script, *arguments)

    @contextmanager
    def script_before(self, script):
        """Runs a script in each document that is loaded meanwhile, before the document's own scripts."""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    # Mistakes of the page

    def complaints(self):
        """Returns the console's errors and breaches of the policy, without the server's answers of 4xx."""
        return [entry for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and entry["source"] != "network"]

    def overflow(self):
        """Returns by how many pixels the page is wider than its window."""
        return self.value("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def barriers(self):
        """Returns the barriers to accessibility that axe-core finds."""
        self.driver.execute_script(AXE)
        results = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run({runOnly: arguments[0]}).then(done, (error) => done(String(error)))",
            RULES)
        assert isinstance(results, dict), results
        return [f"{found['impact']}: {found['id']}, {found['help']}: {node['html'][:200]} {node['failureSummary']}"
                for found in results["violations"] for node in found["nodes"]]

    def picture(self, name):
        """Saves a screenshot for a person to look at."""
        self.save(self._pictures / f"{name}.png")

    def save(self, file):
        """Saves a screenshot to a file."""
        self.driver.save_screenshot(str(file))
