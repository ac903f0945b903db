"""JSON documents at servers of other makers: edits of the outbox and of a rival writer, and lost answers."""

import json
import random
import threading
import time

import pytest
from proxy import LOST_ANSWER, LOST_REQUEST, UNAVAILABLE, Fault
from servers import DOCUMENTS, Kinto

pytestmark = pytest.mark.parametrize("server", DOCUMENTS, indirect=True, ids=lambda type: type.__name__)


def rival(server, path, **edits):
    """Writes fields as a rival that has seen the present version."""
    text = server.read(path)
    for field, value in edits.items():
        text = server.edited(text, field, value)
    server.write(path, text)


def values(server, path, *fields):
    text = server.read(path)
    return [server.field(text, field) for field in fields]


def put(outbox, server, path, seen, title="New", **members):
    return outbox.put(path, server.edited(seen, "title", title), seen, server.type, **members)


def test_edits_of_different_fields_are_both_kept(server, outbox, path):
    seen = server.read(path)
    rival(server, path, place="Rival")
    change = outbox.wait(put(outbox, server, path, seen), "done")
    assert not change["unguarded"]
    assert values(server, path, "title", "place", "exact") == ["New", "Rival", 9007199254740993]
    assert len(outbox.proxy.writes()) == 1


def test_the_edit_of_a_rival_between_look_and_request_is_kept(server, outbox, path):
    seen = server.read(path)
    # The first GET may find a version that is not settled, so the rival writes behind the second one, too.
    edits = iter(["Rival 1", "Rival 2", "Rival 3"])
    write = Fault(rival=lambda: rival(server, path, place=next(edits)))
    outbox.proxy.next("GET", write, write, write)
    outbox.wait(put(outbox, server, path, seen), "done")
    assert values(server, path, "title", "place") == ["New", "Rival 3"]
    assert len(outbox.proxy.writes()) == 1


def test_the_edit_of_a_rival_within_the_second_of_the_effect_is_kept(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("PUT", Fault(rival=lambda: rival(server, path, place="Rival")))
    outbox.wait(put(outbox, server, path, seen), "done")
    # The author has not seen the rival's edit.
    seen = server.edited(seen, "title", "New")
    outbox.wait(put(outbox, server, path, seen, "Newer"), "done")
    assert values(server, path, "title", "place") == ["Newer", "Rival"]


def test_a_body_that_a_rival_has_just_restored_is_a_new_version(server, outbox, path):
    seen = server.read(path)

    def edit_and_restore():
        rival(server, path, place="Rival")
        # Larder reads again 2.2 s after the first look. The restored body then has a new tag, which is not settled.
        threading.Timer(1.9, server.write, (path, seen)).start()

    outbox.proxy.next("GET", Fault(rival=edit_and_restore))
    change = outbox.wait(put(outbox, server, path, seen), "done")
    assert not change["unguarded"]
    assert values(server, path, "title", "place") == ["New", "Old"]


def test_edits_of_the_same_field_are_a_conflict_with_three_versions(server, outbox, path):
    seen = server.read(path)
    rival(server, path, title="Rival")
    id = put(outbox, server, path, seen)
    change = outbox.wait(id, "conflict")
    assert change["problem"]["kind"] == "clash" and not change["mayBeApplied"]
    shown = [server.field(change[side]["text"], "title") for side in ("seen", "ours", "theirs")]
    assert shown == ["Old", "New", "Rival"]
    assert outbox.proxy.writes() == []
    outbox.resolve(id, text=server.edited(change["theirs"]["text"], "title", "New and rival"))
    outbox.wait(id, "done")
    assert values(server, path, "title") == ["New and rival"]


def test_a_conflict_can_be_resolved_with_either_side(server, outbox, path):
    for side, state in (("ours", "done"), ("theirs", "cancelled")):
        seen = server.read(path)
        rival(server, path, title=f"Not {side}")
        id = put(outbox, server, path, seen, f"Take {side}")
        outbox.wait(id, "conflict")
        outbox.resolve(id, take=side)
        outbox.wait(id, state)
        assert values(server, path, "title") == ["Take ours" if side == "ours" else "Not theirs"]


def test_a_rival_edit_after_the_decision_is_kept(server, outbox, path):
    seen = server.read(path)
    rival(server, path, title="Rival")
    id = put(outbox, server, path, seen)
    theirs = outbox.wait(id, "conflict")["theirs"]["text"]
    rival(server, path, place="Rival")
    outbox.resolve(id, text=server.edited(theirs, "title", "New"))
    outbox.wait(id, "done")
    assert values(server, path, "title", "place") == ["New", "Rival"]


def test_a_lost_answer_leads_to_one_effect(server, outbox, path):
    seen = server.read(path)
    # The rival edits another field before Larder looks again.
    lost = Fault(answers=False, rival=lambda: rival(server, path, place="Rival"))
    outbox.proxy.next("PUT", lost)
    change = outbox.wait(put(outbox, server, path, seen), "done")
    assert values(server, path, "title", "place") == ["New", "Rival"]
    assert len(outbox.proxy.writes()) == 1 and change["attempts"] == 1


def test_lost_requests_and_errors_are_repeated(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("GET", LOST_ANSWER, UNAVAILABLE)
    outbox.proxy.next("PUT", LOST_REQUEST, UNAVAILABLE, Fault(forwards=False, status=429, retry_after=1))
    outbox.wait(put(outbox, server, path, seen), "done")
    assert values(server, path, "title") == ["New"]
    assert len(outbox.proxy.writes()) == 1


def test_an_effect_behind_a_503_is_not_repeated(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("PUT", Fault(status=503))
    outbox.wait(put(outbox, server, path, seen), "done")
    assert values(server, path, "title") == ["New"]
    assert len(outbox.proxy.writes()) == 1


def test_a_creation_finds_the_document_of_a_rival(server, outbox, path):
    other = path.replace("note-", "created-")
    document = server.first("created")
    outbox.wait(outbox.put(other, document, None, server.type), "done")
    assert values(server, other, "title") == ["Old"]
    # A second creation clashes, and the first document stays.
    id = outbox.put(other, server.edited(document, "title", "Other"), None, server.type)
    outbox.wait(id, "conflict")
    assert values(server, other, "title") == ["Old"]


def test_a_deletion_waits_if_a_rival_has_edited_the_document(server, outbox, path):
    seen = server.read(path)
    rival(server, path, place="Rival")
    id = outbox.send(path, method="DELETE", seen={"text": seen})
    outbox.wait(id, "conflict")
    assert values(server, path, "place") == ["Rival"]
    outbox.resolve(id, take="ours")
    outbox.wait(id, "done")
    assert server.read(path) is None


def test_a_deletion_with_a_lost_answer_is_done(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("DELETE", LOST_ANSWER)
    outbox.wait(outbox.send(path, method="DELETE", seen={"text": seen}), "done")
    assert server.read(path) is None
    # The document is absent by now, and its deletion is done again without a fuss.
    outbox.wait(outbox.send(path, method="DELETE", seen={"text": seen}), "done")
    assert len(outbox.proxy.writes()) == 1


def test_a_deletion_with_a_lost_answer_is_not_repeated_unseen(server, outbox, path):
    # The request takes the connection of the look before it. An HTTP client that finds such a connection closed may
    # send the request again by itself, and then without a look.
    seen = server.read(path)
    body = server.first("again")
    outbox.proxy.next("DELETE", Fault(answers=False, rival=lambda: server.write(path, body)))
    change = outbox.wait(outbox.send(path, method="DELETE", seen={"text": seen}), "conflict")
    assert [request[0] for request in outbox.proxy.seen].count("DELETE") == 1
    assert change["mayBeApplied"]
    assert values(server, path, "title") == ["Old"]


def test_a_document_that_a_rival_has_deleted_stays_deleted(server, outbox, path):
    seen = server.read(path)
    server.remove(path)
    id = put(outbox, server, path, seen)
    change = outbox.wait(id, "conflict")
    assert change["problem"]["kind"] == "deleted" and change["theirs"] is None
    assert server.read(path) is None
    outbox.resolve(id, take="theirs")
    outbox.wait(id, "cancelled")
    assert server.read(path) is None


def test_changes_of_one_lane_continue_one_another(server, outbox, path):
    body = server.read(path)
    outbox.proxy.close()
    ids = []
    for number in range(3):
        ids.append(put(outbox, server, path, body, f"New {number}"))
        body = server.edited(body, "title", f"New {number}")
    rival(server, path, place="Rival")
    outbox.proxy.open()
    for id in ids:
        outbox.wait(id, "done")
    assert values(server, path, "title", "place") == ["New 2", "Rival"]
    assert len(outbox.proxy.writes()) == 3


def test_a_race_with_faults_loses_no_edit(server, outbox, path):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    faults = [Fault()] * 6 + [LOST_ANSWER, LOST_REQUEST, UNAVAILABLE, Fault(status=503)]
    outbox.proxy.next("PUT", *choice.choices(faults, k=30))
    outbox.proxy.next("GET", *choice.choices([Fault()] * 8 + [LOST_ANSWER, UNAVAILABLE], k=60))
    is_over = threading.Event()
    rivals = []

    def edit():
        # The proxy lets no request pass while the rival reads and writes. A rival without end could keep the resource
        # too young for a sound tag.
        while len(rivals) < 8 and not is_over.wait(choice.uniform(0.5, 4)):
            with outbox.proxy.lock:
                rivals.append(f"rival{len(rivals)}")
                rival(server, path, **{rivals[-1]: "Rival"})

    thread = threading.Thread(target=edit)
    thread.start()
    try:
        ids = []
        for number in range(5):
            seen = server.read(path)
            ids.append(outbox.put(path, server.edited(seen, f"ours{number}", "Ours"), seen, server.type))
            time.sleep(choice.uniform(0, 2))
        changes = [outbox.wait(id, "done") for id in ids]
    finally:
        is_over.set()
        thread.join()
    assert not any(change["unguarded"] for change in changes)
    assert set(values(server, path, *(f"ours{number}" for number in range(5)))) == {"Ours"}
    assert rivals and set(values(server, path, *rivals)) == {"Rival"}


def test_patches_keep_their_form_where_the_server_takes_them(server, outbox, path):
    seen = json.loads(server.read(path))
    is_kinto = isinstance(server, Kinto)
    method = "PATCH" if is_kinto else "PUT"
    patch = {"title": "New"}
    rival(server, path, place="Rival")
    merged = outbox.send(
        path, method=method, seen={"body": seen}, patch={"data": patch} if is_kinto else patch)
    outbox.wait(merged, "done")
    assert values(server, path, "title", "place", "exact") == ["New", "Rival", 9007199254740993]
    seen = json.loads(server.read(path))
    operations = [{"op": "replace", "path": "/data/title" if is_kinto else "/title", "value": "Newer"}]
    outbox.wait(outbox.send(path, method=method, seen={"body": seen}, patch=operations), "done")
    assert values(server, path, "title", "place", "exact") == ["Newer", "Rival", 9007199254740993]
