"""A server with tokens: the page asks for a token, and keeps it in memory only."""

import pytest
from server import Server


@pytest.fixture
def secured(origin):
    server = Server(origin, tokens=True)
    yield server
    server.stop()


def sign_in(page, token):
    field = page.find("dialog[open] input")
    field.send_keys(token)
    page.button("Sign in").click()


def test_a_token_is_asked_for_and_kept_in_memory_only(page, secured):
    secured.put("note", "x")
    page.open(secured, "#/entries")
    page.find("dialog[open] input")
    page.picture("token")
    assert page.barriers() == []
    sign_in(page, "larder_nobody_" + "A" * 43)
    page.wait_for_text("dialog .note", "invalid token")
    sign_in(page, secured.token)
    page.wait(lambda: page.texts(".entries td.name") == ["note"], "the entries")
    page.link("Overview").click()
    page.wait(lambda: page.texts(".tile .value")[3] != "–", "the counters")
    secret = secured.token
    places = page.value("""
        return [
            document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify(history.state),
            JSON.stringify({...localStorage}), JSON.stringify({...sessionStorage}),
            [...document.querySelectorAll("input")].map((input) => input.value).join(),
            performance.getEntriesByType("resource").map((entry) => entry.name).join(),
            Object.keys(window).map((name) => { try { return String(window[name]); } catch { return ""; } }).join(),
        ];""")
    assert not any(secret in place for place in places)
    # The token does not survive a reload of the page.
    page.driver.refresh()
    page.find("dialog[open] input")


def test_signing_out_forgets_the_token(page, secured):
    page.open(secured, "#/overview")
    sign_in(page, secured.token)
    page.button("Sign out").click()
    page.find("dialog[open] input")


def test_the_dialog_cannot_be_left_without_a_token(page, secured):
    page.open(secured)
    field = page.find("dialog[open] input")
    for _ in range(3):
        field.send_keys("\ue00c")
    assert page.find("dialog[open] input").is_displayed()


def test_a_call_that_the_token_does_not_allow_is_reported(page, secured):
    secured.put("note", "x")
    page.open(secured, "#/overview")
    sign_in(page, secured.reader)
    page.wait_for_text(".note.failed", "the token lacks the scope admin; use a token that has it")
    page.link("Entries").click()
    page.wait(lambda: page.texts(".entries td.name") == ["note"], "the entries")
    page.link("note").click()
    page.button("Pin").click()
    page.wait_for_text(".notice", "the token lacks the scope write; use a token that has it")
    page.link("Purge").click()
    page.type("Tag", "t")
    page.button("Count").click()
    page.wait_for_text(".note.failed", "the token lacks the scope purge; use a token that has it")
    page.link("Namespaces").click()
    page.wait_for_text(".note.failed", "the token lacks the scope admin; use a token that has it")
    page.type("Namespace name", "none")
    page.button("Select").click()
    page.wait_for_text(".note.failed", "the token does not cover this namespace; use a token that names it")
