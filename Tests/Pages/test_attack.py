"""A hostile page stays in its replay: the browser contacts only the server, and there only the view of the page."""

import re

import pytest
from attack import LEAVING, REPLAYED, Site, Trap
from network import Record
from replay import Capture, get
from selenium.common.exceptions import ElementNotInteractableException, MoveTargetOutOfBoundsException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from server import Server
from ways import DOCUMENTS, FIELDS, FORMS, HINTS, LINKS, REDIRECTS, REFRESHES, TOPS, WAYS

# Routes of the requests of a replay, and of this test.
ROUTES = {"framePage", "viewPage", "getMetrics"}
# WebRTC in a live page announces names here, also later. A way by WebRTC is recognized by its STUN server instead.
MDNS = "224.0.0.251"
# Destinations of links that no connection follows, or that a page may not open.
HARMLESS = ("about:", "blob:", "chrome:", "data:", "file:", "filesystem:", "javascript:", "mailto:", "view-source:")

# The destinations of links and forms, also in shadow trees.
DESTINATIONS = """
    const found = [];
    const read = (root) => {
        for (const element of root.querySelectorAll("*")) {
            const names = /^(a|area)$/.test(element.localName) ? ["href"] : ["action", "formAction"];
            for (const name of names) {
                if (name !== "href" && !element.hasAttribute(name.toLowerCase())) continue;
                let value = element[name];
                // The URL of a link of SVG can be animated.
                if (value?.animVal) value = new URL(value.animVal, element.baseURI).href;
                if (typeof value === "string" && value !== "") found.push(value);
            }
            if (element.shadowRoot) read(element.shadowRoot);
        }
    };
    read(document);
    return found;
    """
# The elements that a user can activate, also in shadow trees.
TARGETS = """
    const found = [];
    const read = (root) => {
        for (const element of root.querySelectorAll("*")) {
            if (/^(a|area|button|input|label|summary)$/.test(element.localName) || element.matches("math [href], math"))
                found.push(element);
            if (element.shadowRoot) read(element.shadowRoot);
        }
    };
    read(document);
    return found;
    """


class Attack:
    """The hostile page, which a server has captured, and the record of the packets since then."""

    # Each live page needs a network that no connection of the browser leads to.
    networks = (f"10.{number}" for number in range(256))
    # The live pages of all tests: the browser is the same, and WebRTC of an earlier live page goes on for a while.
    lives = []

    def __init__(self, behind):
        self.behind = behind
        self.trap = Trap()
        self.site = Site()
        # With an answer behind each way, the replay has the resources. Without, it has none.
        options = ["--allow-origin", f"{REPLAYED}.0.0/16"] if behind == "answered" else []
        self.server = Server(self.site, options=options)
        self.site.api = self.server.url
        self.capture = Capture(self.server, self.site.url)
        self.below = self.capture.view()
        self.entries = self.server.count()
        self.calls = self.counted()
        self.record = Record()
        # The number of openings that a test has checked.
        self.checked = 0

    def counted(self):
        """Returns the number of requests of each route."""
        text = get(self.server.url + "/metrics")[2].decode()
        counts = {}
        for route, count in re.findall(r'^larder_http_requests_total\{route="(\w+)".*\} (\d+)$', text, re.MULTILINE):
            counts[route] = counts.get(route, 0) + int(count)
        return counts

    def assert_closed(self, replay):
        """Checks the record and the counters, once the browser has sent all that it was going to send."""
        # The ways of a live page come last through the same browser. Some of them wait for a second.
        live = Site(next(self.networks))
        self.lives.append(live)
        missing = self.visit_live(replay, live)
        live.close()
        self.record.fence()
        ports = {int(self.server.url.rpartition(":")[2]), live.port, *replay.own_ports()}
        outside = [
            opening for opening in self.record.openings[self.checked:]
            if not any(live.way(opening) for live in self.lives) and opening.address != MDNS
            and not (opening.address in ("127.0.0.1", "::1") and opening.port in ports)]
        self.checked = len(self.record.openings)
        assert [(self.site.way(opening), opening) for opening in outside] == []
        assert missing == set(), "the record does not see ways out of a live page"
        calls = self.counted()
        assert {route for route in calls if calls[route] != self.calls.get(route)} <= ROUTES
        assert self.server.count() == self.entries
        self.calls = self.counted()

    def visit_live(self, replay, live):
        """Opens a live page, and waits until the record has seen all its ways out. Returns those that it has not."""
        replay.driver.get(live.url + "live")
        self.record.wait(lambda openings: {live.way(opening) for opening in openings} >= set(LEAVING))
        replay.visit("about:blank")
        return set(LEAVING) - {live.way(opening) for opening in self.record.openings}

    def close(self):
        self.server.stop()
        self.record.close()
        for origin in (self.site, self.trap):
            origin.close()


@pytest.fixture(scope="module", params=["answered", "refused"])
def attack(alone, request):
    attack = Attack(request.param)
    yield attack
    attack.close()


def outside(attack, urls):
    """Returns the URLs that lead out of the replay."""
    return [url for url in urls if not url.startswith((attack.below, *HARMLESS))]


def test_the_page_with_all_ways_stays_in_its_replay_and_its_links_lead_to_the_replay(replay, attack):
    replay.visit(attack.below + attack.capture.url)
    found = {}
    for way, frame in zip(WAYS, replay.all("iframe"), strict=True):
        replay.driver.switch_to.frame(frame)
        found[way.name] = outside(attack, replay.value(DESTINATIONS))
        replay.driver.switch_to.default_content()
    assert {name: urls for name, urls in found.items() if urls} == {}
    attack.assert_closed(replay)


def test_the_banner_keeps_a_page_in_its_replay(replay, attack):
    view = Capture(attack.server, attack.site.url + "few").view()
    attack.entries, attack.calls = attack.server.count(), attack.counted()
    attack.record.fence()
    attack.checked = len(attack.record.openings)
    replay.visit(view)
    assert replay.inside("iframe", lambda: len(replay.all("iframe"))) == len(WAYS[::20])
    attack.assert_closed(replay)


# Ways that have another effect in a window than in a frame.
GROUPS = {"hints": HINTS + REFRESHES, "fields": FIELDS + REDIRECTS + TOPS, "xml": DOCUMENTS}


@pytest.mark.parametrize("group", GROUPS)
def test_a_way_at_the_top_of_the_window_stays_in_the_replay(group, replay, attack):
    if attack.behind == "refused":
        pytest.skip("the documents are the same")
    replay.visit("about:blank")
    replay.requests()
    found = {}
    for way in GROUPS[group]:
        if way.is_shown:
            replay.visit(attack.below + attack.site.address(way))
            found[way.name] = outside(attack, replay.requests())
    assert {name: urls for name, urls in found.items() if urls} == {}
    attack.assert_closed(replay)


def click(driver, element):
    ActionChains(driver, duration=0).click(element).perform()


def click_for_tab(driver, element):
    ActionChains(driver, duration=0).key_down(Keys.CONTROL).click(element).key_up(Keys.CONTROL).perform()


def press(driver, element):
    driver.execute_script("arguments[0].focus?.()", element)
    ActionChains(driver, duration=0).send_keys(Keys.ENTER).perform()


def act(replay, index, action):
    """Acts on an element of the page in the window. Returns the URLs that were requested."""
    driver = replay.driver
    replay.requests()
    try:
        action(driver, replay.value(TARGETS)[index])
    except (ElementNotInteractableException, MoveTargetOutOfBoundsException):
        # The element has no place in the window.
        pass
    finally:
        driver.switch_to.default_content()
    window = driver.current_window_handle
    requests = [driver.current_url, *replay.requests()]
    for other in driver.window_handles:
        if other != window:
            driver.switch_to.window(other)
            requests.append(driver.current_url)
            driver.close()
            driver.switch_to.window(window)
    return requests


@pytest.mark.parametrize("action", [click, click_for_tab, press])
def test_no_user_leaves_the_replay_by(action, replay, attack):
    if attack.behind == "refused":
        pytest.skip("the links lead to the same places")
    found, count = [], 0
    # The destinations of all links are known from another test, so some links are enough here.
    for way in FORMS + LINKS[::6] + DOCUMENTS[::6]:
        url = attack.below + attack.site.address(way)
        if not way.is_shown:
            continue
        replay.visit(url)
        total = len(replay.value(TARGETS))
        for index in range(total):
            if index > 0:
                replay.visit(url)
            found += [(way.name, outer) for outer in outside(attack, act(replay, index, action))]
            count += 1
    assert found == []
    assert count > 50
    attack.assert_closed(replay)
