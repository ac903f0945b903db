"""The dashboard with the keyboard alone."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


class Hands:
    """Presses keys on the element with the focus."""

    def __init__(self, page):
        self.page = page

    @property
    def place(self):
        return self.page.driver.switch_to.active_element

    def press(self, *keys):
        for key in keys:
            ActionChains(self.page.driver).send_keys(key).perform()

    def words(self):
        """Returns the label or the text of the element with the focus."""
        return self.page.value("""
            const element = document.activeElement;
            return element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;""")

    def go_to(self, words):
        """Presses the tab key until the named element has the focus. Each focus on the way must be visible."""
        for _ in range(60):
            self.press(Keys.TAB)
            if self.page.value("return document.activeElement === document.body"):
                continue
            assert self.is_visible(), f"nobody sees that {self.words()} has the focus"
            if self.words().strip() == words:
                return
        raise AssertionError(f"the tab key does not lead to {words}")

    def is_visible(self):
        return self.page.value("""
            const element = document.activeElement;
            const shown = element.matches(".segments input") ? element.nextElementSibling : element;
            const style = getComputedStyle(shown);
            const box = shown.getBoundingClientRect();
            return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0
                && box.bottom > 0 && box.top < innerHeight;""")


def test_an_entry_is_found_changed_and_removed_with_keys_alone(page, server):
    for number in range(3):
        server.put(f"note-{number}", "hello", ttl=60, tags="notes")
    page.open(server, "#/overview")
    hands = Hands(page)
    hands.press(Keys.TAB)
    assert hands.words() == "Skip to the content"
    hands.press(Keys.ENTER)
    assert hands.place.tag_name == "h1"
    page.driver.refresh()
    page.find("main h1")
    hands.go_to("Entries")
    hands.press(Keys.ENTER)
    page.wait(lambda: hands.place.tag_name == "h1" and hands.place.text == "Entries", "the focus at the heading")
    hands.go_to("URL or key begins with")
    hands.press("note-1", Keys.ENTER)
    page.wait(lambda: page.texts(".entries td.name") == ["note-1"], "what was searched")
    assert hands.words() == "URL or key begins with", "the focus stays where one types"
    hands.go_to("note-1")
    hands.press(Keys.ENTER)
    page.find(".countdown")
    hands.go_to("New TTL, from now")
    hands.press("5")
    hands.go_to("Change TTL")
    hands.press(Keys.ENTER)
    page.wait(lambda: server.entry("note-1")["expiresInSeconds"] == 18_000, "another ttl")
    assert hands.words() == "Change TTL"
    page.go("#/entries?prefix=note-2")
    page.wait(lambda: page.texts(".entries td.name") == ["note-2"], "another one")
    hands.go_to("note-2")
    hands.press(Keys.ENTER)
    page.find(".countdown")
    hands.go_to("Delete")
    hands.press(Keys.ENTER)
    page.find("dialog[open]")
    assert hands.words() == "Cancel", "what does no harm comes first"
    hands.press(Keys.ESCAPE)
    page.wait(lambda: hands.words() == "Delete", "the focus back where it was")
    hands.press(Keys.SPACE)
    page.find("dialog[open]")
    hands.go_to("Delete")
    hands.press(Keys.ENTER)
    page.wait(lambda: server.entry("note-2") is None, "the end of the entry")
    assert server.count() == 2


def test_a_purge_is_done_with_keys_alone(page, server):
    for number in range(3):
        server.put(f"note-{number}", "hello", tags="notes")
    page.open(server, "#/purge")
    hands = Hands(page)
    hands.go_to("Tag")
    hands.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    hands.go_to("Prefix")
    hands.press("note-", Keys.ENTER)
    page.wait_for_text(".count", "3")
    hands.go_to("Purge 3 entries")
    hands.press(Keys.ENTER)
    page.find("dialog[open]")
    hands.go_to("Purge 3")
    hands.press(Keys.ENTER)
    page.wait_for_text(".note.done", "3 entries purged.")
    assert server.count() == 0


def test_a_download_is_begun_and_cancelled_with_keys_alone(page, server, origin):
    origin.hold("/slow", 1000).allow(10)
    page.open(server, "#/downloads")
    hands = Hands(page)
    hands.go_to("URL")
    hands.press(origin.url("/slow"), Keys.ENTER)
    page.find(".download[data-state=running]")
    # The list comes before the form.
    for _ in range(60):
        ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        if hands.words() == f"Cancel {origin.url('/slow')}":
            break
    hands.press(Keys.ENTER)
    page.wait_for_text(".note.failed", "cancelled")


def test_a_list_keeps_the_focus_while_downloads_change(page, server, origin):
    transfer = origin.hold("/slow", 1_000_000)
    transfer.allow(100_000)
    server.start(origin.url("/slow"))
    page.open(server, "#/overview")
    hands = Hands(page)
    page.find(".download[data-state=running]")
    hands.go_to(f"Cancel {origin.url('/slow')}")
    origin.hold("/other", 1_000_000).allow(100_000)
    server.start(origin.url("/other"))
    page.wait(lambda: len(page.all(".download")) == 2, "another download")
    transfer.allow(600_000)
    page.wait_for_text(".download-state b", "60 %")
    assert hands.words() == f"Cancel {origin.url('/slow')}"
