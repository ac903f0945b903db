"""Origins that are away and come back, and a Larder that is killed in between."""

import time

import pytest
from proxy import Fault
from servers import CALENDARS, DOCUMENTS, Wsgidav

everywhere = pytest.mark.parametrize("server", DOCUMENTS + CALENDARS, indirect=True, ids=lambda type: type.__name__)
anywhere = pytest.mark.parametrize("server", [Wsgidav], indirect=True, ids=lambda type: type.__name__)


def put(outbox, server, path, seen, **members):
    return outbox.put(path, server.edited(seen, "title", "New"), seen, server.type, **members)


def title(server, path):
    return server.field(server.read(path), "title")


@everywhere
def test_an_origin_that_refuses_connections_gets_the_change_when_it_is_back(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.close()
    id = put(outbox, server, path, seen)
    deadline = time.monotonic() + 30
    while (outbox.get(id)["problem"] or {}).get("kind") != "unreachable":
        assert time.monotonic() < deadline, outbox.get(id)
        time.sleep(0.05)
    assert outbox.get(id)["state"] == "pending"
    outbox.proxy.open()
    outbox.wait(id, "done")
    assert title(server, path) == "New"


@everywhere
def test_a_kill_between_the_acknowledgement_and_the_request_loses_nothing(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.close()
    id = put(outbox, server, path, seen)
    outbox.larder.kill()
    outbox.proxy.open()
    outbox.larder.start()
    outbox.wait(id, "done")
    assert title(server, path) == "New"
    assert len(outbox.proxy.writes()) == 1


@everywhere
def test_a_kill_while_the_origin_works_leads_to_one_effect(server, outbox, path):
    seen = server.read(path)
    # The proxy kills Larder when the server has answered, and Larder never sees the answer.
    outbox.proxy.next("PUT", Fault(answers=False, rival=outbox.larder.kill))
    id = put(outbox, server, path, seen)
    deadline = time.monotonic() + 30
    while not outbox.proxy.writes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # The rival, which is the kill, has ended when the lock is free.
    with outbox.proxy.lock:
        outbox.larder.start()
    change = outbox.wait(id, "done", "conflict")
    # A server that rewrites bodies shows its own version, which may be that of a rival.
    assert change["state"] == "done" or change["mayBeApplied"]
    assert title(server, path) == "New"
    assert len(outbox.proxy.writes()) == 1


@anywhere
def test_a_change_expires_while_the_origin_is_away_and_says_so(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.close()
    id = put(outbox, server, path, seen, expires=2)
    outbox.wait(id, "expired")
    outbox.proxy.open()
    # The lane goes on.
    outbox.wait(put(outbox, server, path, seen), "done")
    assert len(outbox.proxy.writes()) == 1


@anywhere
def test_a_cancelled_change_stays_cancelled_through_a_kill(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.close()
    id = put(outbox, server, path, seen)
    deadline = time.monotonic() + 30
    # A request under way refuses the cancellation.
    while outbox.larder.call("DELETE", f"/outbox/{id}")[0] == 409:
        assert time.monotonic() < deadline
    outbox.larder.kill()
    outbox.proxy.open()
    outbox.larder.start()
    outbox.wait(put(outbox, server, path, server.edited(seen, "place", "New")), "done")
    assert outbox.get(id)["state"] == "cancelled"
    assert len(outbox.proxy.writes()) == 1


@anywhere
def test_a_pause_that_the_origin_asks_for_outlives_a_kill(server, outbox, path):
    seen = server.read(path)
    outbox.proxy.next("GET", Fault(forwards=False, status=503, retry_after=4))
    start = time.monotonic()
    id = put(outbox, server, path, seen)
    while outbox.get(id)["nextAttemptDate"] is None:
        assert time.monotonic() < start + 30
        time.sleep(0.02)
    outbox.larder.kill()
    outbox.larder.start()
    outbox.wait(id, "done")
    # The dates have milliseconds, and two clocks measure the pause.
    assert time.monotonic() - start > 3.9
    assert title(server, path) == "New"


@anywhere
def test_a_repeated_post_still_says_that_the_first_one_may_have_had_its_effect(server, outbox, path):
    outbox.proxy.next("POST", Fault(status=503), Fault(forwards=False, status=422))
    id = outbox.send(path, method="POST", text="item")
    assert outbox.wait(id, "uncertain")["mayBeApplied"]
    # The decision accepts a second effect. It does not undo the first one.
    status, answer = outbox.larder.call("POST", f"/outbox/{id}/retry")
    assert status == 200, answer
    assert outbox.wait(id, "rejected")["mayBeApplied"]
