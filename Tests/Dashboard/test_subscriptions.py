"""Subscriptions: the list with the completeness of the copies, one subscription with its resources, and the actions."""

from datetime import datetime, timezone

import pytest
from browser import DESKTOP, PHONE
from selenium.webdriver.common.keys import Keys
from test_hostile import SCRIPT, assert_nothing_ran
from test_keyboard import Hands
from test_tokens import secured, sign_in  # noqa: F401: pytest finds the fixture by its name

NARROW = (390, 780)
# The subscriptions of the tests have no pauses.
QUICK = {"minGap": 0, "concurrencyPerHost": 8}


def feed(origin, path, *links):
    """Puts a feed at a path, with an item for each link. Returns its URL."""
    items = "".join(f"<item><guid>{number}</guid><link>{link}</link></item>" for number, link in enumerate(links))
    return origin.serve(path, "application/rss+xml", f"<rss version='2.0'><channel>{items}</channel></rss>")


def articles(origin, count, missing=()):
    """Puts articles at the origin, without the missing ones. Returns their URLs."""
    for number in range(count):
        if number not in missing:
            origin.serve(f"/articles/{number}", "text/plain", f"Article {number}")
    return [origin.url(f"/articles/{number}") for number in range(count)]


def subscribe(server, name, source, **definition):
    """Creates a subscription."""
    status, answer = server.call("PUT", f"/subscriptions/{name}", {"source": source, **QUICK, **definition})
    assert status in (200, 201), answer


def of(server, name):
    """Returns a subscription, or `None` if the server does not have it."""
    status, answer = server.call("GET", f"/subscriptions/{name}")
    return answer if status == 200 else None


def card(page, name, state=None):
    """Waits for the card of a subscription, perhaps in a state."""
    return page.find(f".subscription-card[data-name='{name}']" + (f"[data-state='{state}']" if state else ""))


def test_the_list_shows_how_complete_the_copies_are(page, server, origin):
    page.open(server, "#/subscriptions")
    page.wait_for_text(".empty", "No subscriptions yet.")
    page.picture("subscriptions-empty")
    subscribe(server, "news", {"feed": feed(origin, "/feed.xml", *articles(origin, 4, missing=[2]))}, interval="15m")
    subscribe(server, "list", {"urls": articles(origin, 2)})
    subscribe(server, "broken", {"feed": origin.serve("/broken.xml", "text/html", "<p>No feed")})
    page.driver.refresh()
    card(page, "news", "incomplete")
    card(page, "list", "complete")
    page.wait_for_text(".subscription-card[data-name='broken'] .problem", "(since ")
    assert page.texts(".subscription-card h2") == ["broken", "list", "news"]
    words = card(page, "news").text
    for word in (f"Feed {origin.url('/feed.xml')}", "3 of 4 held, 1 missing", "generation 1", "oldest copy",
                 "next refresh in 1"):
        assert word in words, words
    bar = card(page, "news").find_element("css selector", "progress")
    assert float(bar.get_attribute("value")) == 0.75
    assert "2 URLs" in card(page, "list").text and "2 of 2 held" in card(page, "list").text
    assert "source fails" in card(page, "broken").text and "pending" in card(page, "broken").text
    assert "3 subscriptions, 1 resource missing" in page.find(".view-head").text
    page.picture("subscriptions-list")


def test_the_list_follows_the_refreshes(page, server, origin):
    transfer = origin.hold("/slow", 1000)
    subscribe(server, "slow", {"urls": [origin.url("/slow"), *articles(origin, 1)]})
    page.open(server, "#/subscriptions")
    card(page, "slow", "pending")
    page.wait_for_text(".subscription-card .chip", "refreshing")
    transfer.finish()
    card(page, "slow", "complete")
    page.wait(lambda: "refreshing" not in page.texts(".chip"), "the end of the refresh")
    # A new subscription appears with its event, and goes with another one.
    subscribe(server, "new", {"urls": articles(origin, 1)})
    card(page, "new", "complete")
    assert server.call("DELETE", "/subscriptions/new")[0] == 200
    page.wait(lambda: page.texts(".subscription-card h2") == ["slow"], "the end of the card")


def test_a_list_of_more_than_a_hundred_subscriptions_is_shown_in_parts(page, server, origin):
    urls = articles(origin, 1)
    for number in range(101):
        subscribe(server, f"list-{number:03}", {"urls": urls})
    page.open(server, "#/subscriptions")
    page.find(".subscription-card[data-name='list-099']")
    assert "1 URL" in card(page, "list-000").text and len(page.texts(".subscription-card h2")) == 100
    page.link("Next").click()
    page.wait(lambda: page.texts(".subscription-card h2") == ["list-100"], "the second part")
    page.wait_for_text(".pager", "End of the list")
    page.link("Previous").click()
    page.find(".subscription-card[data-name='list-000']")


def test_relative_times_move_on(page, server, origin):
    subscribe(server, "list", {"urls": articles(origin, 1)}, interval="1h")
    page.open(server, "#/subscriptions")
    card(page, "list", "complete")
    ages = set()

    def has_moved():
        ages.add(page.find(".row-facts time").text)
        return len(ages) >= 3

    page.wait(has_moved, "an older copy")


def test_a_subscription_shows_its_definition_and_its_missing_resources(page, server, origin):
    urls = articles(origin, 3, missing=[1])
    source = {"feed": feed(origin, "/feed.xml", *urls)}
    headers = {"Accept-Language": "la", "X-Key": "correct-horse-battery-staple"}
    # The quiet hours begin after the test.
    hour = datetime.now(timezone.utc).hour
    quiet = f"{(hour + 2) % 24:02}:00-{(hour + 3) % 24:02}:30"
    subscribe(server, "news", source, latest=50, interval="15m", quietHours=quiet, tags=["news"], headers=headers)
    page.open(server, "#/subscriptions")
    card(page, "news", "incomplete")
    page.link("news").click()
    page.wait_for_text("h2", "Missing: 1")
    assert page.find("h1").text == "news" and origin.url("/feed.xml") in page.find(".source").text
    row = page.find("table[aria-label='Missing resources'] tbody tr").text
    assert urls[1] in row and "the origin answered with status 404" in row, row
    page.wait_for_text("table[aria-label='Missing resources'] time", "s ago")
    facts = " ".join(" ".join(page.texts(".facts")).split())
    for words in ("Generation 1", "Latest 50", "Interval 15 min", f"{quiet} UTC", "accept-language, x-key",
                  "Longest delay 5 min", "8 at a time to a host, without pauses", "May shrink by half at most"):
        assert words in facts, facts
    # The values of request fields may be secret.
    assert "battery" not in page.value("return document.documentElement.outerHTML")
    page.wait_for_text("table[aria-label='Resources']", urls[2])
    states = page.texts("table[aria-label='Resources'] .chip")
    assert states == ["held", "missing", "held"] or sorted(states) == ["held", "held", "missing"], states
    page.picture("subscription")
    page.link(urls[0]).click()
    page.wait_for_text(".entry-body", "Article 0")


def test_the_resources_are_shown_in_parts(page, server, origin):
    subscribe(server, "many", {"urls": articles(origin, 120)})
    page.open(server, "#/subscription/many")
    page.wait_for_text(".place", "50 resources in this part")
    page.wait(lambda: page.find("main > .view > .chips .chip").text == "complete", "all copies")
    names = "table[aria-label='Resources'] td.name"
    assert page.texts(names)[::49] == [origin.url("/articles/0"), origin.url("/articles/49")]
    page.link("Next").click()
    page.wait(lambda: page.texts(names)[:1] == [origin.url("/articles/50")], "the second part")
    page.link("Next").click()
    page.wait_for_text(".place", "20 resources in this part, the last")
    page.link("Previous").click()
    page.wait(lambda: page.texts(names)[:1] == [origin.url("/articles/50")], "the second part again")


def test_a_refresh_brings_a_new_generation(page, server, origin):
    urls = articles(origin, 2, missing=[1])
    subscribe(server, "list", {"urls": urls}, interval="1d")
    page.open(server, "#/subscription/list")
    page.wait_for_text("h2", "Missing: 1")
    articles(origin, 2)
    page.button("Refresh now").click()
    page.wait_for_text(".notice", "The refresh has begun.")
    page.wait(lambda: page.find("main > .view > .chips .chip").text == "complete", "the new generation")
    page.wait(lambda: page.texts("table[aria-label='Resources'] .chip") == ["held", "held"], "both copies")
    assert not any(heading.startswith("Missing") for heading in page.texts("h2"))
    assert of(server, "list")["generation"] > 1


def test_a_source_that_begins_to_fail_is_reported(page, server, origin):
    subscribe(server, "news", {"feed": feed(origin, "/feed.xml", *articles(origin, 1))})
    page.open(server, "#/subscription/news")
    page.wait(lambda: page.texts("main > .view > .chips .chip")[:1] == ["complete"], "the first generation")
    origin.refuse("GET", "/feed.xml", 500)
    server.call("POST", "/subscriptions/news/refresh")
    page.wait_for_text(".note.failed", "The source gives no list:")
    assert "status 500" in page.find(".note.failed").text
    assert page.texts("main > .view > .chips .chip")[0] == "complete", "the old generation stays"
    origin.permit("GET", "/feed.xml")
    page.button("Refresh now").click()
    page.wait(lambda: not any(note.is_displayed() for note in page.all(".note.failed")), "the recovery")


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "removed"])
def test_a_subscription_is_deleted_with_or_without_its_copies(page, server, origin, keep):
    subscribe(server, "list", {"urls": articles(origin, 2)})
    page.open(server, "#/subscription/list")
    page.wait(lambda: page.texts("main > .view > .chips .chip")[:1] == ["complete"], "the copies")
    page.button("Delete").click()
    dialog = page.find("dialog[open]")
    assert "list" in dialog.text
    page.picture("subscription-delete")
    page.button("Cancel", within="//dialog").click()
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert of(server, "list") is not None
    page.button("Delete").click()
    box = page.field("Keep the copies as ordinary entries")
    assert box.is_selected(), "the harmless choice is the first one"
    if not keep:
        box.click()
    page.button("Delete", within="//dialog").click()
    page.wait_for_text(".note", "The subscription was deleted.")
    assert of(server, "list") is None and server.count() == (2 if keep else 0)
    page.link("Other subscriptions").click()
    page.find(".empty")


def test_a_subscription_is_refreshed_and_deleted_in_the_list(page, server, origin):
    subscribe(server, "list", {"urls": articles(origin, 1)}, interval="1d")
    subscribe(server, "other", {"urls": articles(origin, 1)}, interval="1d")
    page.open(server, "#/subscriptions")
    card(page, "list", "complete")
    page.button("Refresh now: list").click()
    page.wait_for_text(".subscription-card[data-name='list'] .row-facts", "generation 2")
    page.button("Delete: other").click()
    page.button("Delete", within="//dialog").click()
    page.wait(lambda: page.texts(".subscription-card h2") == ["list"], "one card")


def test_a_name_without_a_subscription_is_reported(page, server):
    page.open(server, "#/subscription/none")
    page.wait_for_text(".note", "No subscription has this name.")


def test_a_subscription_is_refreshed_and_deleted_with_keys_alone(page, server, origin):
    subscribe(server, "list", {"urls": articles(origin, 1)}, interval="1d")
    page.open(server, "#/subscriptions")
    card(page, "list", "complete")
    hands = Hands(page)
    hands.go_to("list")
    hands.press(Keys.ENTER)
    page.wait_for_text("main > .view > .chips .chip", "complete")
    page.wait(lambda: hands.place.tag_name == "h1", "the focus at the heading")
    hands.go_to("Refresh now")
    hands.press(Keys.ENTER)
    page.wait_for_text(".facts", "Generation\n2")
    assert hands.words() == "Refresh now"
    hands.go_to("Delete")
    hands.press(Keys.SPACE)
    page.find("dialog[open]")
    assert hands.words() == "Cancel", "the harmless button comes first"
    hands.go_to("Keep the copies as ordinary entries")
    hands.press(Keys.SPACE)
    hands.go_to("Delete")
    hands.press(Keys.ENTER)
    page.wait(lambda: of(server, "list") is None, "the end of the subscription")
    assert server.count() == 0


def test_a_card_keeps_the_focus_while_its_subscription_is_refreshed(page, server, origin):
    for name in ("first", "second"):
        subscribe(server, name, {"urls": articles(origin, 1)}, interval="1d")
    page.open(server, "#/subscriptions")
    card(page, "second", "complete")
    hands = Hands(page)
    hands.go_to("Refresh now: second")
    for name in ("first", "second"):
        server.call("POST", f"/subscriptions/{name}/refresh")
    page.wait_for_text(".subscription-card[data-name='second'] .row-facts", "generation 2")
    assert hands.words() == "Refresh now: second"


@pytest.mark.parametrize("size", [DESKTOP, NARROW, PHONE], ids=["desktop", "narrow", "phone"])
def test_subscriptions_fit_the_window_and_have_no_barriers(page, server, origin, size):
    long = "/" + "a-long-name-without-a-place-to-break" * 8
    urls = articles(origin, 3, missing=[1]) + [origin.serve(long, "text/plain", "x"), origin.url(long + "/missing")]
    subscribe(server, "news", {"feed": feed(origin, f"{long}.xml", *urls)}, tags=["t" * 200])
    subscribe(server, "N" * 64, {"urls": urls})
    page.open(server, "#/subscriptions", size=size)
    card(page, "news", "incomplete")
    name = {DESKTOP: "desktop", NARROW: "narrow", PHONE: "phone"}[size]
    for dark in (False, True):
        for address in ("#/subscriptions", "#/subscription/news", f"#/subscription/{'N' * 64}"):
            page.open(server, address, size=size, dark=dark)
            page.find(".subscription-card, table[aria-label='Resources']")
            assert page.overflow() == 0, address
            assert page.barriers() == []
            page.picture(f"{name}-{'dark' if dark else 'light'}-{address[2:].replace('/', '-')[:25]}")


def test_a_reader_sees_subscriptions_and_the_refusal_of_changes(page, secured, origin):  # noqa: F811
    subscribe(secured, "list", {"urls": articles(origin, 1)})
    page.open(secured, "#/subscriptions")
    sign_in(page, secured.reader)
    card(page, "list", "complete")
    page.button("Refresh now: list").click()
    page.wait_for_text(".notice.failed", "the token lacks the scope download; use a token that has it")
    page.button("Delete: list").click()
    page.button("Delete", within="//dialog").click()
    page.wait_for_text(".notice.failed", "the token lacks the scope write; use a token that has it")
    assert of(secured, "list") is not None


def test_subscriptions_of_a_namespace_are_shown_and_deleted_in_it(page, server, origin):
    server.call("PUT", "/namespaces/staging", {})
    server.call("PUT", "/subscriptions/list", {"source": {"urls": articles(origin, 1)}, **QUICK}, namespace="staging")
    page.open(server, "#/subscriptions?namespace=staging")
    card(page, "list", "complete")
    page.link("list").click()
    page.wait_for_text("main > .view > .chips .chip", "complete")
    assert "namespace=staging" in page.driver.current_url
    page.button("Delete").click()
    page.button("Delete", within="//dialog").click()
    page.wait_for_text(".note", "The subscription was deleted.")
    assert server.call("GET", "/subscriptions", namespace="staging")[1] == {"subscriptions": []}


def test_hostile_sources_and_items_are_shown_as_text(page, server, origin):
    evil = [
        "/?q=<script>window.ran=1</script>", "/'onmouseover='window.ran=1'", "/?a=\"><img/src=x/onerror=window.ran=1>",
        f"/canary-<img src=/canary onerror={SCRIPT}>",
    ]
    escaped = [origin.url(path).replace("&", "&amp;").replace("<", "&lt;") for path in evil]
    tag = f"<img src=/canary onerror={SCRIPT}>"
    subscribe(server, "evil", {"feed": feed(origin, "/feed.xml", *escaped)}, tags=[tag])
    subscribe(server, "constructor", {"pages": origin.url("/<b>"), "items": f"/{tag}", "next": "/__proto__"})
    page.open(server, "#/subscriptions")
    card(page, "evil", "incomplete")
    page.wait_for_text(".subscription-card[data-name='constructor'] .problem", "(since ")
    origin.requests.clear()
    assert_nothing_ran(page, origin)
    for name in ("evil", "constructor"):
        page.go(f"#/subscription/{name}")
        page.wait(lambda: page.find("h1").text == name, name)
        page.find(".sheet :is(table, .empty)")
        page.driver.execute_script("document.querySelector('h1').dispatchEvent(new MouseEvent('mouseover'))")
        page.picture(f"subscription-hostile-{name}")
        assert_nothing_ran(page, origin)
