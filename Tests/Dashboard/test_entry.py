"""The page of an entry: metadata, countdown, preview and actions."""

import struct
import zlib

from selenium.webdriver.common.keys import Keys


def png(width, height):
    """Returns a PNG image of one colour."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x10\x80\x60" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_metadata_and_json_are_shown(page, server, origin):
    body = '{"id":12345678901234567890,"name":"Ada \\"A\\"","list":[],"nested":{"pi":3.10,"none":null,"e":1e400}}'
    key = server.download(origin.serve("/users/1", "application/json", body), ttl=3600, tags=["users"])["key"]
    page.open(server)
    page.entry(key)
    # Numbers stay as written, because a browser's own numbers would lose digits.
    expected = (
        '{\n  "id": 12345678901234567890,\n  "name": "Ada \\"A\\"",\n  "list": [],\n'
        '  "nested": {\n    "pi": 3.10,\n    "none": null,\n    "e": 1e400\n  }\n}')
    assert page.find(".body-text").text == expected
    facts = page.find(".facts").text
    for words in (key, "application/json", "sha-256=:", "users", "200"):
        assert words in facts, words
    assert page.find("h1").text == origin.url("/users/1")
    page.picture("entry-json")


def test_text_images_and_other_bytes_are_shown(page, server, origin):
    page.open(server)
    text = server.download(origin.serve("/a.txt", "text/plain; charset=iso-8859-1", "Grüße".encode("latin-1")))
    page.entry(text["key"])
    assert page.find(".body-text").text == "Grüße"
    image = server.download(origin.serve("/a.png", "image/png", png(48, 32)))
    page.entry(image["key"])
    page.wait_for_text(".entry-body", "48 × 32 pixels")
    assert page.find(".body-image img").get_property("src").startswith("blob:")
    page.picture("entry-image")
    data = server.download(origin.serve("/a.bin", "application/octet-stream", bytes(range(256)) * 100))
    page.entry(data["key"])
    lines = page.find(".body-text.hex").text.split("\n")
    assert lines[2] == "0020  20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f   !\"#$%&'()*+,-./"
    assert "The first 512 B" in page.find(".entry-body").text
    long = server.download(origin.serve("/long.txt", "text/plain", "abcdefgh" * (100 << 10)))
    page.entry(long["key"])
    page.wait_for_text(".entry-body", "The first 256 KiB")
    assert len(page.find(".body-text").text) == 256 << 10
    broken = server.download(origin.serve("/broken.json", "application/json", '{"a": [1, 2'))
    page.entry(broken["key"])
    assert page.find(".body-text").text == '{"a": [1, 2'


def test_the_countdown_runs_and_ends(page, server, origin):
    key = server.download(origin.serve("/soon", "text/plain", "x"), ttl=4)["key"]
    page.open(server)
    page.entry(key)
    seen = set()

    def is_over():
        seen.add(page.find(".countdown").text)
        return page.find(".columns h2").text == "Stale for" and "stale" in page.texts(".chip")

    page.wait(is_over, "the end of the ttl")
    assert len(seen) >= 3, seen


def test_the_ttl_is_changed(page, server, origin):
    key = server.download(origin.serve("/a", "text/plain", "x"), ttl=5)["key"]
    page.open(server)
    page.entry(key)
    page.type("New TTL, from now", "3")
    page.button("Change TTL").click()
    page.wait_for_text(".notice", "The TTL was changed.")
    page.wait(lambda: page.find(".countdown").text.startswith(("3 h", "2 h 59 min")), "another countdown")
    assert server.entry(key)["expiresInSeconds"] == 10_800
    page.picture("ttl-changed")


def test_refresh_pin_and_delete_change_the_entry(page, server, origin):
    url = origin.serve("/a", "text/plain", "old")
    key = server.download(url, ttl=3600, tags=["t"])["key"]
    page.open(server)
    page.entry(key)
    assert page.find(".body-text").text == "old"
    origin.serve("/a", "text/plain", "new")
    page.button("Refresh now").click()
    page.wait_for_text(".body-text", "new")
    assert origin.requests == ["/a", "/a"] and server.entry(key)["tags"] == ["t"]
    page.button("Pin").click()
    page.button("Unpin")
    assert server.entry(key)["pinned"] is True
    page.button("Unpin").click()
    page.button("Pin")
    assert server.entry(key)["pinned"] is False
    page.button("Delete").click()
    dialog = page.find("dialog[open]")
    assert url in dialog.text
    page.picture("delete")
    dialog.find_element("css selector", "button").send_keys(Keys.ESCAPE)
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert server.entry(key) is not None
    page.button("Delete").click()
    page.button("Delete", within="//dialog").click()
    page.wait_for_text(".note", "The entry is no longer in the cache.")
    assert server.entry(key) is None


def test_an_answer_from_before_a_change_does_not_undo_it(page, server, origin):
    url = origin.serve("/a", "text/plain", "x")
    key = server.download(url, ttl=3600)["key"]
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.entry(key)
    # The next answer to the page is held back until the test lets it go, with its content from before.
    page.value("""
        const fetched = window.fetch;
        window.looks = 0;
        window.fetch = async (target, options) => {
            const answer = await fetched(target, options);
            if ((options.method ?? "GET") === "GET" && String(target).endsWith(arguments[0])) {
                window.looks += 1;
                if (window.looks === 1) await new Promise((resolve) => { window.letGo = resolve; });
            }
            return answer;
        };
        """, key)
    server.download(url, ttl=3600, refresh=True)
    page.wait(lambda: page.value("return window.looks") == 1, "the look after the refresh")
    page.button("Pin").click()
    page.button("Unpin")
    page.value("""
        window.labels = new Set();
        const note = () => document.querySelectorAll("button").forEach((each) => window.labels.add(each.textContent));
        note();
        new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
        """)
    page.value("window.letGo()")
    page.wait(lambda: page.value("return window.looks") == 2, "one more look")
    page.button("Unpin")
    assert "pinned" in page.texts(".chip")
    labels = page.value("return [...window.labels]")
    assert "Unpin" in labels and "Pin" not in labels


def test_a_ttl_of_zero_removes_data_after_a_confirmation(page, server):
    server.put("mine", "x", ttl=3600)
    page.open(server)
    page.entry("mine")
    page.type("New TTL, from now", "0")
    page.button("Change TTL").click()
    page.button("Remove", within="//dialog").click()
    page.wait_for_text(".note", "The entry is no longer in the cache.")
    assert server.entry("mine") is None


def test_a_refresh_that_stores_another_entry_is_reported(page, server, origin):
    url = origin.serve("/a", "text/plain", "x")
    entry = server.download(url, ttl=3600, headers={"Accept": "text/plain"})
    page.open(server)
    page.entry(entry["key"])
    page.button("Refresh now").click()
    page.wait_for_text(".notice", "another entry")
    assert page.find("h1").text == url and entry["key"] in page.driver.current_url


def test_an_entry_that_comes_back_is_shown_again(page, server, origin):
    url = origin.serve("/a", "text/plain", "hello")
    key = server.download(url, ttl=3600)["key"]
    page.open(server)
    page.entry(key)
    page.button("Delete").click()
    page.button("Delete", within="//dialog").click()
    page.wait_for_text(".note", "The entry is no longer in the cache.")
    server.download(url, ttl=3600)
    page.wait(lambda: page.texts(".body-text") == ["hello"], "the body again")
