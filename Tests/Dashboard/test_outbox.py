"""The outbox: lanes and states, one change with its versions side by side, and the decisions about it."""

import json

import pytest
from browser import DESKTOP, PHONE
from selenium.webdriver.common.keys import Keys
from test_hostile import NAMES, SCRIPT, assert_nothing_ran, shown
from test_keyboard import Hands
from test_tokens import secured, sign_in  # noqa: F401: pytest finds the fixture by its name

NARROW = (390, 780)
# A number that no double holds. Each decision must keep its text.
EXACT = "12345678901234567890.25"
JSON_TYPE = {"Content-Type": "application/json"}


def note(title, place="Rome", **more):
    """Returns a JSON document with a number that a browser's own numbers would change."""
    members = "".join(f', "{name}": {json.dumps(value)}' for name, value in more.items())
    return f'{{"title": {json.dumps(title)}, "place": {json.dumps(place)}, "exact": {EXACT}{members}}}'


def send(server, url, text=None, seen=None, **members):
    """Sends a change that was made on a body. Returns its id."""
    request = {"url": url, **members}
    if text is not None:
        request |= {"text": text, "headers": {**JSON_TYPE, **members.get("headers", {})}}
    if seen is not None:
        request["seen"] = {"text": seen}
    status, change = server.call("POST", "/outbox", request)
    assert status == 202, change
    return change["id"]


def make_conflict(server, origin, path="/notes/1", **members):
    """Sends a change of a title that a rival has changed, too. Returns its id."""
    url = origin.keep(path, note("Rival", "Paris"))
    return send(server, url, note("Mine"), note("Old"), **members)


def change_of(server, id):
    status, change = server.call("GET", f"/outbox/{id}")
    assert status == 200, change
    return change


def row(page, id, state):
    """Waits until the row of a change has a state."""
    return page.find(f".change-row[data-id='{id}'][data-state='{state}']")


def open_change(page, server, id, state):
    """Opens the view of a change, and waits for a state."""
    page.open(server, f"#/change/{id}")
    wait_for_state(page, state)


def wait_for_state(page, state):
    page.wait(lambda: page.texts("main > .view > .chips .chip")[:1] == [state], state)


def lines(page, selector):
    """Returns the texts of elements with their spaces."""
    return [element.get_property("textContent") for element in page.all(selector)]


def visible_buttons(page):
    return [button.text for button in page.all("main section .actions button") if button.is_displayed()]


def test_lanes_show_their_changes_in_order_and_lanes_that_wait_come_first(page, server, origin):
    page.open(server, "#/outbox")
    page.wait_for_text(".empty", "No changes wait. The outbox is empty.")
    first = make_conflict(server, origin)
    second = send(server, origin.url("/notes/1"), note("Second"))
    origin.refuse("POST", "/orders", 400)
    order = send(server, origin.url("/orders"), '{"n": 1}', method="POST", lane="orders")
    item = send(server, origin.url("/items/1"), "{}", base="absent", lane="orders")
    row(page, first, "conflict")
    row(page, order, "rejected")
    origin.refuse("GET", "/later", 503)
    later = send(server, origin.url("/later"), note("New"), note("Old"))
    page.wait_for_text(f".change-row[data-id='{later}'] .problem", "the origin cannot be reached (status 503)")
    page.wait(lambda: [lane.get_attribute("data-lane") for lane in page.all(".lane")] == [
        origin.url("/notes/1"), "orders", origin.url("/later")], "the lanes that wait first")
    ids = [[each.get_attribute("data-id") for each in lane.find_elements("css selector", ".change-row")]
           for lane in page.all(".lane")]
    assert ids == [[str(first), str(second)], [str(order), str(item)], [str(later)]]
    assert page.texts(".lane > .panel-head .chip") == ["waits for a decision"] * 2
    assert "Lane orders" in page.texts(".lane h2") and origin.url("/notes/1") in page.texts(".lane h2")
    # A lane with a label names the URL of each change.
    assert origin.url("/items/1") in page.find(f".change-row[data-id='{item}']").text
    assert page.texts("main > .view > .chips .chip") == ["3 pending", "1 conflict", "1 rejected"]
    head = " ".join(page.find(".view-head").text.split())
    assert head.startswith("Outbox 5 changes in 3 lanes, the oldest accepted"), head
    assert "the origin has a newer version, and both edits clash" in page.find(f"[data-id='{first}'] .problem").text
    assert "the origin refuses the request (status 400)" in page.find(f"[data-id='{order}'] .problem").text
    page.picture("outbox-lanes")
    page.link("1 conflict").click()
    page.wait(lambda: page.texts(".lane h2") == [origin.url("/notes/1")], "the lane with the conflict")
    assert [each.get_attribute("data-id") for each in page.all(".change-row")] == [str(first)]


def test_the_list_follows_the_changes(page, server, origin):
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.go("#/outbox")
    page.find(".empty")
    id = make_conflict(server, origin)
    row(page, id, "conflict")
    server.call("POST", f"/outbox/{id}/resolve", {"take": "ours"})
    page.find(".empty")
    page.field("State").find_element("xpath", "option[. = 'Ended']").click()
    row(page, id, "done")
    assert json.loads(origin.text("/notes/1"))["title"] == "Mine"


def test_without_events_the_list_is_read_again(page, server, origin):
    # This fetch acts like a proxy that lets no stream through.
    with page.script_before("const ask = fetch; window.fetch = (target, ...rest) => "
                            "target === 'events' ? Promise.reject(new TypeError()) : ask(target, ...rest)"):
        page.open(server, "#/outbox")
        page.find(".empty")
        id = make_conflict(server, origin)
        row(page, id, "conflict")
        page.find(f".change-row[data-id='{id}'] a").click()
        wait_for_state(page, "conflict")
        server.call("DELETE", f"/outbox/{id}")
        wait_for_state(page, "cancelled")


def test_filters_list_the_changes_that_match(page, server, origin):
    first = make_conflict(server, origin, "/notes/1")
    second = make_conflict(server, origin, "/notes/2")
    page.open(server, "#/outbox")
    row(page, first, "conflict")
    row(page, second, "conflict")
    page.type("URL", origin.url("/notes/2").replace("http:", "HTTP:"))
    page.button("Search").click()
    page.wait(lambda: page.texts(".lane h2") == [origin.url("/notes/2")], "one lane")
    page.field("State").find_element("xpath", "option[. = 'Done']").click()
    page.wait_for_text(".empty", "No changes match.")
    page.button("Clear").click()
    page.wait(lambda: len(page.all(".lane")) == 2, "both lanes")
    page.go("#/outbox?state=unknown")
    page.wait_for_text(".note.failed", "The changes cannot be listed: state must be")


def test_a_long_lane_and_many_lanes_are_shown_on_request(page, server, origin):
    make_conflict(server, origin)
    for number in range(12):
        send(server, origin.url("/notes/1"), note(f"Number {number}"))
    for number in range(52):
        make_conflict(server, origin, f"/many/{number}")
    page.open(server, "#/outbox")
    page.wait(lambda: len(page.all(".lane")) == 50, "the first lanes")
    assert len(page.all(".lane:first-child .change-row")) == 10
    page.button("Show all 13").click()
    page.wait(lambda: len(page.all(".lane:first-child .change-row")) == 13, "the whole lane")
    page.button("Show all 53 lanes").click()
    page.wait(lambda: len(page.all(".lane")) == 53, "all lanes")


def test_a_conflict_shows_three_versions_with_their_differences(page, server, origin):
    base, ours = (f'{{"place": "Rome", "title": "{title}", "n": [1, {n}], "exact": {EXACT}}}'
                  for title, n in (("Old", 2), ("Mine", 3)))
    # The order of members is no difference.
    url = origin.keep("/notes/1", f'{{"exact": {EXACT}, "n": [1, 2], "place": "Paris", "title": "Rival"}}')
    id = send(server, url, ours, base)
    open_change(page, server, id, "conflict")
    assert page.find("h1").text == f"PUT {url}"
    assert page.texts(".version-heads h3") == ["Base", "Theirs", "Ours"]
    kinds = [chunk.get_attribute("class").split()[-1] for chunk in page.all(".chunk")]
    assert kinds == ["same", "ours", "same", "theirs", "clash", "same"], kinds
    assert lines(page, ".chunk.clash pre") == ['  "title": "Old"', '  "title": "Rival"', '  "title": "Mine"']
    assert lines(page, ".chunk.theirs pre") == ['  "place": "Rome",', '  "place": "Paris",', '  "place": "Rome",']
    assert page.find(".chunk.clash .verdict").text == "Both differ from the base"
    assert EXACT in page.find(".versions").text
    page.picture("change-conflict")
    facts = page.find(".facts").text
    for words in ("Lane the URL", "Requests none yet", "Made on the version that the author saw", "Content-Type"):
        assert words.replace(" ", "") in facts.replace("\n", "").replace(" ", ""), facts


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_conflict_is_decided_with_one_side(page, server, origin, take):
    id = make_conflict(server, origin)
    open_change(page, server, id, "conflict")
    page.button(f"Take {take}").click()
    if take == "theirs":
        page.button("Take theirs", within="//dialog").click()
    wait_for_state(page, "done" if take == "ours" else "cancelled")
    # Of the rival's edits, only the one that clashes is replaced.
    expected = note("Mine", "Paris") if take == "ours" else note("Rival", "Paris")
    assert json.loads(origin.text("/notes/1")) == json.loads(expected)
    assert EXACT in origin.text("/notes/1")
    assert len(origin.writes) == (1 if take == "ours" else 0)
    assert change_of(server, id)["state"] == ("done" if take == "ours" else "cancelled")


def test_a_conflict_is_decided_with_a_merged_body(page, server, origin):
    id = make_conflict(server, origin)
    open_change(page, server, id, "conflict")
    page.button("Edit and send").click()
    field = page.field("Merged body")
    # The proposal has the edits of both sides, and ours where they clash.
    assert json.loads(field.get_property("value")) == json.loads(note("Mine", "Paris"))
    assert EXACT in field.get_property("value")
    page.picture("change-editor")
    page.button("theirs").click()
    assert field.get_property("value") == note("Rival", "Paris")
    page.button("merged").click()
    text = field.get_property("value").replace("Mine", "Mine and the rival's")
    field.clear()
    field.send_keys("{")
    page.button("Send this body").click()
    assert "This text is not JSON" in field.get_property("validationMessage")
    assert change_of(server, id)["state"] == "conflict"
    field.clear()
    field.send_keys(text)
    page.button("Send this body").click()
    wait_for_state(page, "done")
    body = origin.text("/notes/1")
    assert json.loads(body)["title"] == "Mine and the rival's" and json.loads(body)["place"] == "Paris"
    assert EXACT in body and len(origin.writes) == 1


def test_the_text_of_the_editor_stays_while_the_change_is_read_again(page, server, origin):
    id = make_conflict(server, origin)
    open_change(page, server, id, "conflict")
    page.button("Edit and send").click()
    page.type("Merged body", '{"title": "Half')
    # The rival writes again, and "Compare again" finds the newer version.
    origin.keep("/notes/1", note("Rival again", "Paris"))
    server.call("POST", f"/outbox/{id}/retry")
    page.wait_for_text(".chunk.clash .side.theirs pre", "Rival again")
    wait_for_state(page, "conflict")
    assert page.find("textarea").get_property("value") == '{"title": "Half'


def test_a_deletion_at_the_origin_is_a_conflict_with_a_missing_version(page, server, origin):
    url = origin.keep("/notes/1", note("Old"))
    origin.documents["/notes/1"] = None
    id = send(server, url, note("Mine"), note("Old"))
    open_change(page, server, id, "conflict")
    page.wait_for_text("main strong", "The resource is gone.")
    assert page.texts(".version-heads .theirs p") == ["The resource is gone."]
    page.button("Take ours").click()
    wait_for_state(page, "done")
    assert origin.text("/notes/1") == note("Mine")


def test_a_deletion_that_clashes_with_an_edit_is_decided(page, server, origin):
    url = origin.keep("/notes/1", note("Rival"))
    id = send(server, url, method="DELETE", seen=note("Old"))
    open_change(page, server, id, "conflict")
    assert page.texts(".version-heads .ours p") == ["The change deletes the resource."]
    assert visible_buttons(page) == ["Delete anyway", "Take theirs", "Compare again", "Cancel change"]
    page.button("Delete anyway").click()
    wait_for_state(page, "done")
    assert origin.documents["/notes/1"] is None


def test_a_rejected_change_is_corrected_and_sent(page, server, origin):
    url = origin.keep("/notes/1", note("Old"))
    origin.refuse("PUT", "/notes/1", 422)
    id = send(server, url, note("Mine"), note("Old"))
    open_change(page, server, id, "rejected")
    page.wait_for_text("main strong", "The origin refuses the request (status 422).")
    assert page.texts(".version-heads h3") == ["Base", "Ours"]
    assert visible_buttons(page) == ["Edit and send", "Send again", "Cancel change"]
    page.picture("change-rejected")
    page.button("Send again").click()
    page.wait(lambda: len(origin.writes) == 2, "another request")
    wait_for_state(page, "rejected")
    origin.permit("PUT", "/notes/1")
    page.button("Edit and send").click()
    page.type("Merged body", note("Corrected"))
    page.button("Send this body").click()
    wait_for_state(page, "done")
    assert origin.text("/notes/1") == note("Corrected")


def test_a_post_with_a_lost_answer_is_sent_again_only_after_a_question(page, server, origin):
    origin.refuse("POST", "/orders", None)
    id = send(server, origin.url("/orders"), '{"n": 1}', method="POST")
    open_change(page, server, id, "uncertain")
    assert "may be applied" in page.texts("main > .view > .chips .chip")
    assert visible_buttons(page) == ["Send again", "Cancel change"]
    page.button("Send again").click()
    assert "The effect may then happen twice." in page.find("dialog[open]").text
    page.button("Cancel", within="//dialog").click()
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert len(origin.writes) == 1
    origin.permit("POST", "/orders")
    page.button("Send again").click()
    page.button("Send again", within="//dialog").click()
    page.wait(lambda: len(origin.writes) == 2, "the second request")
    page.wait(lambda: change_of(server, id)["state"] in ("confirmed", "done"), "the confirmation")


def test_a_blocked_change_names_its_credential_and_shows_no_secret(page, server, origin):
    secret = "correct-horse-battery-staple"
    url = origin.keep("/notes/1", note("Old"))
    fields = {"Authorization": f"Bearer {secret}"}
    status, answer = server.call(
        "PUT", "/credentials/notes", {"origins": [origin.url("")], "headers": fields})
    assert status == 200, answer
    origin.refuse("PUT", "/notes/1", 401)
    id = send(server, url, note("Mine"), note("Old"), credential="notes", headers={"X-Key": secret})
    open_change(page, server, id, "blocked")
    assert "credential notes" in page.texts("main > .view > .chips .chip")
    assert visible_buttons(page) == ["Send again", "Cancel change"]
    # The names of request fields are shown, and their values are not.
    assert "X-Key" in page.find(".facts").text
    assert secret not in page.value("return document.documentElement.outerHTML")
    page.picture("change-blocked")
    origin.permit("PUT", "/notes/1")
    server.call("PUT", "/credentials/notes", {"origins": [origin.url("")], "headers": fields})
    wait_for_state(page, "done")


def test_a_pending_change_is_cancelled(page, server, origin):
    url = origin.keep("/notes/1", note("Old"))
    origin.refuse("GET", "/notes/1", 503)
    id = send(server, url, note("Mine"), note("Old"))
    open_change(page, server, id, "pending")
    page.wait_for_text("main strong", "The origin cannot be reached (status 503).")
    assert visible_buttons(page) == ["Send now", "Cancel change"]
    page.button("Cancel change").click()
    assert url in page.find("dialog[open]").text
    page.button("Cancel change", within="//dialog").click()
    wait_for_state(page, "cancelled")
    assert visible_buttons(page) == [] and origin.writes == []


def test_a_confirmed_change_is_reverted_by_a_new_one(page, server, origin):
    url = origin.keep("/notes/1", note("Old"))
    id = send(server, url, note("Mine"), note("Old"))
    open_change(page, server, id, "done")
    assert visible_buttons(page) == ["Revert"]
    page.button("Revert").click()
    page.wait_for_text(".notice", "A new change takes this one back:")
    page.link(f"change {id + 1}").click()
    wait_for_state(page, "done")
    assert json.loads(origin.text("/notes/1"))["title"] == "Old"


def test_a_text_is_compared_line_by_line_and_other_bytes_are_named(page, server, origin):
    base = [f"line {number}" for number in range(40)]
    theirs, ours = [*base], [*base]
    theirs[20] = "theirs\t<b>"
    ours[20] = "ours"
    ours[39] = "the end"
    url = origin.keep("/page.txt", "\n".join(theirs))
    id = send(server, url, "\n".join(ours), "\n".join(base), headers={"Content-Type": "text/plain"})
    open_change(page, server, id, "conflict")
    assert lines(page, ".chunk.clash pre") == ["line 20", "theirs\t<b>", "ours"]
    assert lines(page, ".chunk.ours pre") == ["line 39", "line 39", "the end"]
    hidden = page.find(".versions details")
    assert hidden.text == "14 equal lines" and "line 9" not in page.find(".versions").text
    hidden.find_element("css selector", "summary").click()
    page.wait(lambda: "line 9" in page.find(".versions").text, "the equal lines")
    page.picture("change-text")
    url = origin.keep("/data", bytes([0, 255, 254]))
    status, change = server.call("POST", "/outbox", {
        "url": url, "data": "AAH/", "seen": {"data": "AAD/"}, "headers": {"Content-Type": "application/octet-stream"}})
    assert status == 202, change
    page.go(f"#/change/{change['id']}")
    wait_for_state(page, "conflict")
    assert page.texts(".version-heads p") == ["3 B that are not UTF-8"] * 3


def test_an_edited_text_keeps_its_line_ends(page, server, origin):
    def event(title, place):
        return f"BEGIN:VEVENT\r\nSUMMARY:{title}\r\nLOCATION:{place}\r\nEND:VEVENT\r\n"

    url = origin.keep("/event.ics", event("Rival", "Paris"))
    id = send(server, url, event("Mine", "Rome"), event("Old", "Rome"), headers={"Content-Type": "text/calendar"})
    open_change(page, server, id, "conflict")
    assert lines(page, ".chunk.clash pre") == ["SUMMARY:Old", "SUMMARY:Rival", "SUMMARY:Mine"]
    page.button("Edit and send").click()
    field = page.field("Merged body")
    assert field.get_property("value") == event("Mine", "Paris").replace("\r", "")
    page.type("Merged body", event("Both", "Paris").replace("\r", ""))
    page.button("Send this body").click()
    wait_for_state(page, "done")
    assert origin.text("/event.ics") == event("Both", "Paris")


def test_a_change_that_does_not_exist_is_reported(page, server):
    page.open(server, "#/change/4711")
    page.wait_for_text(".note", "No change has this id.")
    page.link("Other changes").click()
    page.wait_for_text("h1", "Outbox")


def test_a_conflict_is_decided_with_keys_alone(page, server, origin):
    id = make_conflict(server, origin)
    page.open(server, "#/outbox")
    row(page, id, "conflict")
    hands = Hands(page)
    hands.go_to(f"PUT #{id}")
    hands.press(Keys.ENTER)
    wait_for_state(page, "conflict")
    page.wait(lambda: hands.place.tag_name == "h1", "the focus at the heading")
    hands.go_to("Take theirs")
    hands.press(Keys.ENTER)
    page.find("dialog[open]")
    assert hands.words() == "Cancel", "the harmless button comes first"
    hands.press(Keys.ESCAPE)
    page.wait(lambda: hands.words() == "Take theirs", "the focus back where it was")
    hands.go_to("Edit and send")
    hands.press(Keys.ENTER)
    page.wait(lambda: hands.words() == "Merged body", "the focus in the editor")
    hands.go_to("Send this body")
    hands.press(Keys.ENTER)
    wait_for_state(page, "done")
    # The button has left with the decision.
    page.wait(lambda: hands.place.tag_name == "h1", "the focus at the heading")
    assert json.loads(origin.text("/notes/1")) == json.loads(note("Mine", "Paris"))


def test_a_row_keeps_the_focus_while_the_list_changes(page, server, origin):
    ids = [make_conflict(server, origin, f"/notes/{number}") for number in range(3)]
    page.open(server, "#/outbox")
    for id in ids:
        row(page, id, "conflict")
    hands = Hands(page)
    hands.go_to(f"PUT #{ids[1]}")
    server.call("DELETE", f"/outbox/{ids[0]}")
    page.wait(lambda: len(page.all(".lane")) == 2, "one lane less")
    last = make_conflict(server, origin, "/notes/9")
    row(page, last, "conflict")
    assert hands.words() == f"PUT #{ids[1]}"


@pytest.mark.parametrize("size", [DESKTOP, NARROW, PHONE], ids=["desktop", "narrow", "phone"])
def test_a_conflict_fits_the_window_and_has_no_barriers(page, server, origin, size):
    long = "/notes/" + "a-long-name-without-a-place-to-break" * 8
    id = make_conflict(server, origin, long)
    send(server, origin.url(long), note("Second"))
    wide = json.dumps({"title": "x" * 3000, "list": ["<b>" * 30] * 3})
    origin.keep("/wide", wide.replace("x", "y"))
    other = send(server, origin.url("/wide"), wide.replace("x", "z"), wide, lane="Lane " + "w" * 200)
    page.open(server, "#/outbox", size=size)
    row(page, id, "conflict")
    row(page, other, "conflict")
    name = {DESKTOP: "desktop", NARROW: "narrow", PHONE: "phone"}[size]
    for dark in (False, True):
        for address, heading in (("#/outbox", "Outbox"), (f"#/change/{id}", "PUT"), (f"#/change/{other}", "PUT")):
            page.open(server, address, size=size, dark=dark)
            page.wait_for_text("h1", heading)
            page.find(".lane" if heading == "Outbox" else ".versions")
            if heading == "PUT":
                page.button("Edit and send").click()
            assert page.overflow() == 0, address
            assert page.barriers() == []
            page.picture(f"outbox-{name}-{'dark' if dark else 'light'}-{address.strip('#/').replace('/', '-')}")


def test_a_token_without_the_scope_is_refused(page, secured, origin):  # noqa: F811
    id = make_conflict(secured, origin)
    page.open(secured, "#/outbox")
    sign_in(page, secured.reader)
    page.wait_for_text(".note.failed", "the token lacks the scope send; use a token that has it")
    page.go(f"#/change/{id}")
    page.wait_for_text(".note.failed", "the token lacks the scope send; use a token that has it")
    assert page.all(".versions") == []


def test_with_a_token_a_conflict_is_decided(page, secured, origin):  # noqa: F811
    id = make_conflict(secured, origin)
    page.open(secured, f"#/change/{id}")
    sign_in(page, secured.token)
    wait_for_state(page, "conflict")
    page.button("Take ours").click()
    wait_for_state(page, "done")
    assert json.loads(origin.text("/notes/1"))["title"] == "Mine"


def test_the_outbox_of_a_namespace_is_shown_and_decided_in_it(page, server, origin):
    server.call("PUT", "/namespaces/staging", {})
    url = origin.keep("/notes/1", note("Rival"))
    request = {"url": url, "text": note("Mine"), "seen": {"text": note("Old")}, "headers": JSON_TYPE}
    id = server.call("POST", "/outbox", request, namespace="staging")[1]["id"]
    page.open(server, "#/outbox?namespace=staging")
    row(page, id, "conflict").find_element("css selector", "a").click()
    wait_for_state(page, "conflict")
    assert "namespace=staging" in page.driver.current_url
    page.button("Take ours").click()
    wait_for_state(page, "done")
    page.go("#/outbox")
    page.find(".empty")


def test_hostile_urls_lanes_and_bodies_are_shown_as_text(page, server, origin):
    paths = [
        "/?q=<script>window.ran=1</script>", "/'onmouseover='window.ran=1'", "/?a=\"><img/src=x/onerror=window.ran=1>",
    ]
    evil = f"</pre><script>{SCRIPT}</script><img src=/canary onerror='{SCRIPT}'>"
    ids = []
    for path in paths:
        status, change = server.call("POST", "/outbox", {
            "url": origin.url(path), "text": evil + "ours", "seen": {"text": evil},
            "headers": {"Content-Type": "text/html"}})
        assert status == 202, change
        ids.append(change["id"])
    for number, name in enumerate(NAMES):
        origin.keep(f"/lanes/{number}", json.dumps({"__proto__": {"polluted": 1}, name: "theirs", "evil": evil}))
        ours = json.dumps({"__proto__": {"polluted": 2}, name: evil, "constructor": name})
        ids.append(send(server, origin.url(f"/lanes/{number}"), ours, json.dumps({name: "base"}), lane=name))
    origin.requests.clear()
    page.open(server, "#/outbox")
    page.wait(lambda: {f"Lane {shown(name)}" for name in NAMES} <= set(page.texts(".lane h2")), "the lanes")
    page.picture("outbox-hostile")
    assert_nothing_ran(page, origin)
    for id in ids:
        page.go(f"#/change/{id}")
        page.wait(lambda: page.find(".facts").text.splitlines()[1] == str(id), "the change")
        if "Edit and send" in visible_buttons(page):
            page.button("Edit and send").click()
        page.driver.execute_script("document.querySelector('h1').dispatchEvent(new MouseEvent('mouseover'))")
        assert_nothing_ran(page, origin)
    conflict = next(id for id in ids if change_of(server, id)["state"] == "conflict")
    page.go(f"#/change/{conflict}")
    page.wait_for_text(".versions", "</pre><script>")
    assert_nothing_ran(page, origin)
