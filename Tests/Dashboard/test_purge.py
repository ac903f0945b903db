"""A purge: its count, its confirmation and its result."""


def test_a_purge_is_counted_and_confirmed(page, server):
    for number in range(12):
        server.put(f"note-{number}", "x", tags="draft" if number < 7 else "final")
    page.open(server, "#/purge")
    page.type("Tag", "draft")
    page.button("Count").click()
    page.wait_for_text(".count", "7")
    assert len(page.all(".sample li")) == 5 and "and 2 more" in page.find("main").text
    page.picture("purge")
    page.button("Purge 7 entries").click()
    dialog = page.find("dialog[open]")
    assert "Purge 7 entries?" in dialog.text and "with the tag draft, in the namespace default" in dialog.text
    page.picture("purge-confirm")
    page.button("Cancel", within="//dialog").click()
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert server.count() == 12
    page.button("Purge 7 entries").click()
    page.button("Purge 7", within="//dialog").click()
    page.wait_for_text(".note.done", "7 entries purged.")
    assert server.count() == 5 and server.count(tag="draft") == 0


def test_a_purge_removes_exactly_the_counted_entries(page, server, origin):
    server.put("note-1", "x", tags="draft")
    server.put("other-1", "x", tags="draft")
    server.download(origin.serve("/a", "text/plain", "x"), ttl=60)
    page.open(server, "#/purge?prefix=note-")
    page.button("Count").click()
    page.wait_for_text(".count", "1")
    page.button("Purge 1 entry")
    # A changed filter must be counted again.
    page.type("Prefix", "other-")
    assert page.all(".danger") == []
    page.driver.find_element("xpath", "//label[.='Host']").click()
    page.type("Host", "127.0.0.1")
    page.button("Count").click()
    page.wait_for_text(".count", "of the host 127.0.0.1")
    page.button("Purge 1 entry").click()
    page.button("Purge 1", within="//dialog").click()
    page.wait_for_text(".note.done", "1 entry purged.")
    assert server.count() == 2 and server.count(host="127.0.0.1") == 0


def test_an_address_alone_purges_no_entry(page, server):
    server.put("note-1", "x", tags="draft")
    page.open(server, "#/purge?tag=draft")
    assert page.field("Tag").get_property("value") == "draft"
    page.button("Count").click()
    page.wait_for_text(".count", "1")
    assert server.count() == 1


def test_entries_and_purges_belong_to_the_chosen_namespace(page, server):
    server.call("PUT", "/namespaces/staging", {"version": "2"})
    server.put("note", "x", tags="draft")
    server.call("PUT", "/entries/note/content?tags=draft", body="x", namespace="staging")
    server.call("PUT", "/entries/other/content?tags=draft", body="x", namespace="staging")
    page.open(server, "#/namespaces")
    panel = page.wait_for_text(".namespace", "staging")
    page.picture("namespaces")
    panel.find_element("tag name", "a").click()
    page.wait(lambda: len(page.texts(".entries td.name")) == 2, "the entries of that namespace")
    page.link("Purge").click()
    page.type("Tag", "draft")
    page.button("Count").click()
    page.button("Purge 2 entries").click()
    assert "in the namespace staging" in page.find("dialog[open]").text
    page.button("Purge 2", within="//dialog").click()
    page.wait_for_text(".note.done", "2 entries purged.")
    assert server.count() == 1


def test_a_confirmation_closes_with_its_view(page, server):
    server.call("PUT", "/namespaces/staging", {"version": "2"})
    server.put("note", "x", tags="draft")
    server.call("PUT", "/entries/note/content?tags=draft", body="x", namespace="staging")
    page.open(server, "#/purge?tag=draft")
    page.button("Count").click()
    page.button("Purge 1 entry").click()
    page.find("dialog[open]")
    page.go("#/purge?tag=draft&namespace=staging")
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert server.count() == 1 and server.call("GET", "/namespaces/staging")[1]["entries"] == 1
