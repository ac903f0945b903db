"""Hostile names and bodies: no script in them runs, and no URL in them is requested."""

import pytest

# Each script would show that it ran: in the window, in the title, at the origin, or by a dialog.
SCRIPT = "window.ran=1;document.title='ran';alert(1)"
NAMES = [
    f"<script>{SCRIPT}<\u2215script>", "<img src=x onerror=window.ran=1>", "\"><svg onload=window.ran=1>",
    "javascript:window.ran=1", "'-window.ran=1-'", "{{constructor.constructor('window.ran=1')()}}",
    "\u202egpj.exe", "%3Cscript%3E", "__proto__", "constructor", "<!--", "]]>", "a&lt;b", "' onmouseover='window.ran=1",
]


def shown(name):
    """Returns a name as the page writes it: an invisible character is written as its number."""
    return name.replace("\u202e", "\\u{202e}")


def assert_nothing_ran(page, origin):
    assert page.value("return window.ran") is None
    assert page.driver.title.endswith("– Larder")
    assert not any("canary" in path for path in origin.requests)
    assert page.all("main script, main iframe, main object, main embed, main svg image") == []
    assert page.value("return Object.prototype.polluted") is None


def test_hostile_names_are_shown_as_text(page, server, origin):
    for name in NAMES:
        server.put(name, "x", ttl=60, tags=name.replace(",", ""))
    page.open(server, "#/entries")
    page.wait(lambda: sorted(page.texts(".entries td.name")) == sorted(map(shown, NAMES)), "every name as it is")
    page.picture("hostile-names")
    assert_nothing_ran(page, origin)
    for name in NAMES:
        page.entry(name)
        assert page.find("h1").text == shown(name)
        assert shown(name) in page.texts(".chips .chip")
        page.find(".body-text.hex, .body-text")
        page.driver.execute_script("document.querySelector('h1').dispatchEvent(new MouseEvent('mouseover'))")
        assert_nothing_ran(page, origin)
    page.go("#/purge")
    for name in NAMES[:3]:
        page.type("Tag", name)
        page.button("Count").click()
        page.wait_for_text(".count", f"with the tag {name}")
        page.button("Purge 1 entry").click()
        assert name in page.find("dialog[open]").text
        page.button("Cancel", within="//dialog").click()
        page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert_nothing_ran(page, origin)


def test_hostile_urls_are_shown_as_text(page, server, origin):
    paths = [
        "/?q=<script>window.ran=1</script>", "/'onmouseover='window.ran=1'", "/?a=\"><img/src=x/onerror=window.ran=1>",
    ]
    for path in paths:
        server.start(origin.url(path))
    page.open(server, "#/downloads")
    page.wait(lambda: len(page.all(".download")) == len(paths), "the downloads")
    assert_nothing_ran(page, origin)


BODIES = {
    "html": ("text/html", "<!doctype html><script>{script}</script><img src='{canary}'><body onload='{script}'>"),
    "svg": ("image/svg+xml",
            "<svg xmlns='http://www.w3.org/2000/svg' onload='{script}'><script>{script}</script>"
            "<image href='{canary}'/><foreignObject><iframe src='{canary}'/></foreignObject></svg>"),
    "json": ("application/json", '{{"__proto__": {{"polluted": 1}}, "</pre><script>{script}</script>": "{canary}"}}'),
    "xml": ("application/xml", "<?xml-stylesheet href='{canary}'?><x xmlns:h='http://www.w3.org/1999/xhtml'>"
            "<h:script>{script}</h:script></x>"),
    "script": ("text/javascript", "{script}"),
    "css": ("text/css", "@import '{canary}'; body {{ background: url({canary}) }}"),
    "image": ("image/png", "<svg xmlns='http://www.w3.org/2000/svg' onload='{script}'/>"),
    "type": ("text/html\"><script>{script}</script>", "<script>{script}</script>"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_hostile_bodies_are_never_part_of_the_page(page, server, origin, kind):
    type, body = (text.format(script=SCRIPT, canary=origin.url("/canary")) for text in BODIES[kind])
    entry = server.download(origin.serve("/body", type, body, ETag='"<script>window.ran=1</script>"'), ttl=60)
    page.open(server)
    page.entry(entry["key"])
    if kind == "image":
        page.wait_for_text(".entry-body", "This browser cannot show the image.")
    elif kind == "json":
        assert "</pre><script>" in page.find(".body-text").text
    else:
        assert page.find(".body-text").text == body
    page.picture(f"hostile-{kind}")
    assert_nothing_ran(page, origin)


def test_hostile_addresses_of_the_page_run_no_script_and_change_no_entry(page, server, origin):
    server.put("note", "x", tags="t")
    for address in (
        "#/entry/%3Cimg%20src=x%20onerror=window.ran=1%3E", "#/entry/%E0%A4%A", "#/entry",
        "#/page/%3Cimg%20src=x%20onerror=window.ran=1%3E", "#/page/%E0%A4%A?capture=<b>", "#/page",
        "#/change/%3Cimg%20src=x%20onerror=window.ran=1%3E", "#/change/%E0%A4%A", "#/change", "#/change/__proto__",
        "#/subscription/%3Cimg%20src=x%20onerror=window.ran=1%3E", "#/subscription/%E0%A4%A?cursor=<b>",
        "#/subscription",
        "#/outbox?state=<img src=x onerror=window.ran=1>&url=javascript:window.ran=1", "#/subscriptions?cursor=<b>",
        "#/pages?q=<script>window.ran=1</script>&state=<b>&cursor=<b>",
        "#/purge?tag=<img src=x onerror=window.ran=1>",
        "#/entries?prefix=<script>window.ran=1</script>&sort=<b>", "#/constructor", "#/__proto__?x=1", "#/toString/x",
        "#/overview?namespace=<script>", "#/entries?namespace=..%2F..", "#javascript:window.ran=1", "#/purge?all=true",
    ):
        page.open(server, address)
        page.wait(lambda: page.find("h1").text != "", "a view")
        assert_nothing_ran(page, origin)
    assert server.count() == 1


def test_another_page_can_neither_frame_the_dashboard_nor_use_its_api(page, server, origin):
    """The origin's page stands for a page of the internet that a user of the dashboard visits."""
    server.put("note", "x", tags="t")
    origin.serve("/evil", "text/html", f"""<!doctype html><iframe src="{server.url}/"></iframe><script>
        fetch("{server.url}/entries?all=true", {{method: "DELETE", mode: "no-cors"}}).catch(() => 0)
            .then(() => fetch("{server.url}/entries")).then((answer) => answer.text(), () => "refused")
            .then((text) => {{ document.title = text; }});
    </script>""")
    page.driver.get(origin.url("/evil"))
    page.wait(lambda: page.driver.title == "refused", "the refusal")
    frame = page.driver.find_element("tag name", "iframe")
    page.driver.switch_to.frame(frame)
    assert page.driver.find_elements("css selector", "#tabs") == []
    page.driver.switch_to.default_content()
    assert server.count() == 1
    # The browser reports the refused frame.
    assert any("frame-ancestors" in entry["message"] for entry in page.complaints())
