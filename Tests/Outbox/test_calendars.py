"""Events at calendar servers, with bodies that cannot be merged in part: edits of the outbox and of a rival writer."""

import random
import threading
import time

import pytest
from proxy import LOST_ANSWER, UNAVAILABLE, Fault
from servers import CALENDARS, Radicale

pytestmark = pytest.mark.parametrize("server", CALENDARS, indirect=True, ids=lambda type: type.__name__)


def put(outbox, server, path, seen, title="New"):
    return outbox.put(path, server.edited(seen, "title", title), seen, server.type)


def title(server, path):
    return server.field(server.read(path), "title")


def test_edits_of_different_events_are_both_kept(server, outbox, path):
    other = path.replace("note-", "other-")
    server.write(other, server.first("other"))
    seen = server.read(path)
    rival = server.edited(server.read(other), "title", "Rival")
    outbox.proxy.next("GET", Fault(rival=lambda: server.write(other, rival)))
    change = outbox.wait(put(outbox, server, path, seen), "done")
    assert not change["unguarded"]
    assert (title(server, path), title(server, other)) == ("New", "Rival")


def test_edits_of_one_event_are_a_conflict_with_three_versions(server, outbox, path):
    seen = server.read(path)
    server.write(path, server.edited(seen, "place", "Rival"))
    id = put(outbox, server, path, seen)
    change = outbox.wait(id, "conflict")
    assert change["problem"]["kind"] == "clash"
    shown = [(server.field(change[side]["text"], "title"), server.field(change[side]["text"], "place"))
             for side in ("seen", "ours", "theirs")]
    assert shown == [("Old", "Old"), ("New", "Old"), ("Old", "Rival")]
    assert outbox.proxy.writes() == []
    outbox.resolve(id, text=server.edited(change["theirs"]["text"], "title", "New"))
    outbox.wait(id, "done")
    text = server.read(path)
    assert (server.field(text, "title"), server.field(text, "place")) == ("New", "Rival")


def test_the_edit_of_a_rival_between_look_and_request_is_kept(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("GET", Fault(rival=lambda: server.write(path, server.edited(seen, "place", "Rival"))))
    id = put(outbox, server, path, seen)
    outbox.wait(id, "conflict")
    assert server.field(server.read(path), "place") == "Rival"
    assert outbox.proxy.writes() == []


def test_changes_continue_the_body_that_the_server_has_rewritten(server, outbox, path):
    body = server.read(path)
    outbox.proxy.close()
    ids = []
    for number in range(3):
        # Radicale orders the properties in its own way, and the author does not know this.
        ids.append(put(outbox, server, path, body, f"New {number}"))
        body = server.edited(body, "title", f"New {number}").replace("SUMMARY", "DESCRIPTION:x\r\nSUMMARY", 1)
        body = body.replace("DESCRIPTION:x\r\n", "", 1)
    outbox.proxy.open()
    for id in ids:
        outbox.wait(id, "done")
    assert title(server, path) == "New 2"


def test_a_new_event_is_created_once_and_continued(server, outbox, path):
    other = path.replace("note-", "created-")
    body = server.first("created")
    first = outbox.put(other, body, None, server.type)
    second = put(outbox, server, other, body)
    outbox.wait(first, "done")
    outbox.wait(second, "done")
    assert title(server, other) == "New"
    assert len(outbox.proxy.writes()) == 2


def test_a_creation_that_finds_the_event_of_a_rival_is_a_conflict(server, outbox, path):
    id = outbox.put(path, server.edited(server.first("other"), "title", "Other"), None, server.type)
    outbox.wait(id, "conflict")
    assert title(server, path) == "Old"


def test_a_lost_answer_leads_to_one_effect(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("PUT", LOST_ANSWER)
    id = put(outbox, server, path, seen)
    if isinstance(server, Radicale):
        # Only an answer tells the tag of the own version, so a rewritten body looks like that of a rival.
        change = outbox.wait(id, "done", "conflict")
        assert change["state"] == "done" or change["mayBeApplied"]
    else:
        outbox.wait(id, "done")
    assert title(server, path) == "New"
    assert len(outbox.proxy.writes()) == 1


def test_a_conflict_that_the_server_calls_an_internal_error_is_a_conflict(server, outbox, path):
    seen = server.read(path)
    rival = server.edited(seen, "place", "Rival")
    outbox.proxy.next("PUT", Fault(forwards=False, status=500, rival=lambda: server.write(path, rival)))
    change = outbox.wait(put(outbox, server, path, seen), "conflict")
    assert server.field(change["theirs"]["text"], "place") == "Rival"
    assert outbox.proxy.writes() == []


def test_a_race_with_faults_and_decisions_loses_no_edit(server, outbox, path):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    outbox.proxy.next("PUT", *choice.choices([Fault()] * 4 + [LOST_ANSWER, UNAVAILABLE, Fault(status=503)], k=20))
    is_over = threading.Event()
    places = []

    def edit():
        # The proxy lets no request pass while the rival reads and writes.
        while not is_over.wait(choice.uniform(0.2, 2)):
            with outbox.proxy.lock:
                places.append(f"Rival {len(places)}")
                server.write(path, server.edited(server.read(path), "place", places[-1]))

    thread = threading.Thread(target=edit)
    thread.start()
    try:
        for number in range(6):
            seen = server.read(path)
            time.sleep(choice.uniform(0, 1))
            id = put(outbox, server, path, seen, f"New {number}")
            while True:
                change = outbox.wait(id, "done", "conflict")
                if change["state"] == "done":
                    break
                # The decision of a person is the version of the rival with the own title.
                outbox.resolve(id, text=server.edited(change["theirs"]["text"], "title", f"New {number}"))
            assert title(server, path) == f"New {number}"
    finally:
        is_over.set()
        thread.join()
    assert places and server.field(server.read(path), "place") == places[-1]


def test_a_digest_as_a_tag_needs_no_second_look(server, outbox, path):
    # The event is younger than the resolution of its date, but no two versions share a digest. A wait for another tag
    # would never end while a rival writes every second.
    outbox.wait(put(outbox, server, path, server.read(path)), "done")
    assert [request[0] for request in outbox.proxy.seen] == ["GET", "PUT", "GET"]


def test_errors_are_repeated(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("GET", UNAVAILABLE, LOST_ANSWER)
    outbox.proxy.next("PUT", UNAVAILABLE, UNAVAILABLE)
    outbox.wait(put(outbox, server, path, seen), "done")
    assert title(server, path) == "New"
    assert len(outbox.proxy.writes()) == 1


def test_a_deletion_of_the_event_that_its_author_saw(server, outbox, path):
    outbox.wait(outbox.send(path, method="DELETE", seen={"text": server.read(path)}), "done")
    assert server.read(path) is None


def test_a_deletion_waits_if_a_rival_has_edited_the_event(server, outbox, path):
    seen = server.read(path)
    server.write(path, server.edited(seen, "place", "Rival"))
    id = outbox.send(path, method="DELETE", seen={"text": seen})
    outbox.wait(id, "conflict")
    assert server.field(server.read(path), "place") == "Rival"
    outbox.resolve(id, take="theirs")
    outbox.wait(id, "cancelled")


def test_an_event_that_a_rival_has_deleted_stays_deleted(server, outbox, path):
    seen = server.read(path)
    server.remove(path)
    id = put(outbox, server, path, seen)
    assert outbox.wait(id, "conflict")["problem"]["kind"] == "deleted"
    assert server.read(path) is None
    outbox.resolve(id, take="ours")
    outbox.wait(id, "done")
    assert title(server, path) == "New"
