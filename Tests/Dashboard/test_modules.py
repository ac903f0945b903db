"""The modules of pure functions, in the browser."""

import random

import pytest


@pytest.fixture
def run(page, server):
    """Calls a function with a module, such as `({indented}) => …` with `json-text`. Returns its result."""
    page.open(server)

    def run(module, function, *arguments):
        script = f"""
            const [name, given, done] = arguments;
            import(`/dashboard/${{name}}.js`).then((module) => ({function})(module, ...given))
                .then((value) => done({{value}}), (error) => done({{error: String(error.stack)}}));"""
        result = page.driver.execute_async_script(script, module, arguments)
        assert "error" not in result, result
        return result["value"]

    return run


STREAM = (
    ":\nid: 0\n\nid: 1\nevent: download.started\ndata: {\"a\": 1}\n\n:\n\nid: 2\nevent: x\ndata: one\ndata:two\r\n\r\n"
    "data\n\nevent: without data\nid: 3\n\ndata: {\"url\": \"http://h/: \\u00e9\"}\n\ndata: not yet")
EVENTS = [
    {"type": "download.started", "data": "{\"a\": 1}"}, {"type": "x", "data": "one\ntwo"},
    {"type": "message", "data": ""}, {"type": "message", "data": "{\"url\": \"http://h/: \\u00e9\"}"},
]


def test_events_are_the_same_in_pieces_of_any_length(run):
    found = run("events", """({ EventParser }, text) => {
        const all = [];
        for (let at = 0; at <= text.length; at += 1) {
            const parser = new EventParser();
            all.push([...parser.push(text.slice(0, at)), ...parser.push(text.slice(at))]);
        }
        const parser = new EventParser();
        all.push([...text].flatMap((letter) => parser.push(letter)));
        return all;
    }""", STREAM)
    assert len(found) == len(STREAM) + 2
    assert all(events == EVENTS for events in found)


def test_the_last_id_counts_when_its_event_is_whole(run):
    assert run("events", """({ EventParser }) => {
        const parser = new EventParser();
        return [":\\nid: 1\\n", "\\n", "id: 2\\ndata: x", "\\n\\ndata: y\\n\\n"].map((text) => {
            parser.push(text);
            return parser.lastId;
        });
    }""") == [None, "1", "1", "2"]


def test_a_line_without_end_is_refused(run):
    words = run("events", """({ EventParser }) => {
        try { new EventParser().push("x".repeat(5 << 20)); } catch (error) { return error.message; }
    }""")
    assert words == "a line of the events is too long"


@pytest.mark.parametrize("source, text", [
    ("[]", "[]"), ("{}", "{}"), ("1.50", "1.50"), ("\"a\"", "\"a\""), (" null ", "null"),
    ("[1,-2.5e+3]", "[\n  1,\n  -2.5e+3\n]"), ('{"a":{"b":[{}]}}', '{\n  "a": {\n    "b": [\n      {}\n    ]\n  }\n}'),
    ('["\\"\\\\","\\u00e9 {[,:"]', '[\n  "\\"\\\\",\n  "\\u00e9 {[,:"\n]'),
    ("{", None), ("[1,]", None), ("", None), ("\"a\nb\"", None),
])
def test_json_is_indented_and_its_values_stay_as_written(run, source, text):
    assert run("json-text", "({ indented }, source) => indented(source)?.text ?? null", source) == text


def test_indented_json_of_many_brackets_stays_small(run):
    length = run("json-text", "({ indented }) => indented('['.repeat(5000) + ']'.repeat(5000)).text.length")
    assert length < 1_000_000


def test_names_strings_and_literals_of_json_are_marked(run):
    marks = run("json-text", """({ indented }) => {
        const { text, marks } = indented('{"a":"b","c":[1,true]}');
        return marks.map(({ kind, start, end }) => [kind, text.slice(start, end)]);
    }""")
    assert marks == [["name", '"a"'], ["string", '"b"'], ["name", '"c"'], ["literal", "1"], ["literal", "true"]]


@pytest.mark.parametrize("key", ["a", "a/b", "a b?c#d&e=f", "%2F", "é\u202e", "..", "<b>", "a+b"])
def test_an_address_is_parsed_back_into_its_route(run, key):
    route = run("router", """({ addressOf, parseRoute }, key) => parseRoute(
        addressOf({ view: "entry", key, namespace: "staging", query: { host: key, tag: "", sort: null } }))""", key)
    assert route == {"view": "entry", "key": key, "namespace": "staging", "query": {"host": key}}


def test_numbers_get_readable_units(run):
    assert run("format", """({ bytes, duration, latency, rate }) => [
        [0, 1, 1023, 1024, 1536, 102400, 1 << 20, 2 ** 40, 2 ** 63].map(bytes),
        [0, 0.9, 59, 60, 61, 3600, 3661, 86400, 31536000].map((seconds) => duration(seconds)),
        [duration(90061, 3), duration(86405, 2), duration(-5)], [0.0004, 0.25, 1, 12.34].map(latency),
        [0, 0.25, 9.96, 1234.5].map(rate),
    ]""") == [
        ["0 B", "1 B", "1,023 B", "1 KiB", "1.5 KiB", "100 KiB", "1 MiB", "1 TiB", "8,192 PiB"],
        ["0 s", "0 s", "59 s", "1 min", "1 min 1 s", "1 h", "1 h 1 min", "1 d", "1 y"],
        ["1 d 1 h 1 min", "1 d", "0 s"], ["0 ms", "250 ms", "1 s", "12.3 s"], ["0", "0.3", "10", "1,235"],
    ]


def status(key, state, start=0, received=0, **more):
    return {"key": key, "url": f"http://h/{key}", "state": state, "receivedBytes": received, "totalBytes": 1000,
            "bytesPerSecond": 100, "waiters": 1, "startDate": f"2026-01-31T08:00:0{start}.000Z", **more}


MODEL = """({ DownloadsModel }, steps) => {
    const model = new DownloadsModel();
    for (const [time, what] of steps) {
        if ("downloads" in what) model.replace(what, time);
        else model.apply(what, time);
    }
    const show = ({ status, speed, share, secondsLeft }) => [status.key, status.state, speed, share, secondsLeft];
    return [model.running.map(show), model.ended.map(show), model.hasMoreRunning];
}"""


def test_listings_and_events_together_give_the_downloads(run):
    listed = [status("b", "running", 2), status("a", "running", 1), status("old", "failed")]
    listing = {"downloads": listed, "more": True}
    steps = [
        [0, listing], [1000, status("a", "running", 1, received=500)],
        [1100, status("c", "running", 3)], [1200, status("b", "succeeded", 2, received=1000)],
        # A listing older than the event, and an event of an earlier download.
        [1300, {"downloads": [status("c", "running", 3), *listed], "more": True}],
        [1400, status("a", "failed", 0)],
        # Answers from the cache: for a new key, for a key that is being downloaded, and after the origin's 304.
        [1500, status("new", "succeeded", 5, fromCache=True)], [1500, status("a", "succeeded", 5, fromCache=True)],
        [1600, status("c", "succeeded", 3, fromCache=True)],
    ]
    running, ended, more = run("downloads-model", MODEL, steps)
    assert [download[:2] for download in running] == [["a", "running"]]
    assert [download[:2] for download in ended] == [["c", "succeeded"], ["b", "succeeded"], ["old", "failed"]]
    # A listing begins with the running downloads. A listing with an ended download contains all running downloads.
    assert more is False


@pytest.mark.parametrize("states, cut, more", [
    (["running", "running"], True, True), (["running", "running"], False, False), ([], False, False),
    (["running", "succeeded"], True, False), (["succeeded", "failed"], True, False), (["cancelled"], True, False),
])
def test_more_downloads_run_only_if_a_cut_listing_has_no_ended_download(run, states, cut, more):
    listed = [status(f"k{number}", state) for number, state in enumerate(states)]
    assert run("downloads-model", MODEL, [[0, {"downloads": listed, "more": cut}]])[2] is more


def test_the_speed_of_a_download_is_that_of_the_last_seconds(run):
    steps = [[0, status("a", "running", received=0)]]
    steps += [[1000 * second, status("a", "running", received=20 * second)] for second in range(1, 20)]
    [[_, _, speed, share, left]], _, _ = run("downloads-model", MODEL, steps)
    assert abs(speed - 20) < 0.1 and share == 0.38 and abs(left - 31) < 1


def test_the_last_hundred_ended_downloads_are_kept(run):
    steps = [[number, status(f"k{number}", "succeeded")] for number in range(150)]
    _, ended, _ = run("downloads-model", MODEL, steps)
    assert [download[0] for download in ended] == [f"k{number}" for number in range(149, 49, -1)]


def test_the_disk_of_each_namespace_is_read(run):
    text = "\n".join([
        'larder_namespace_disk_bytes{namespace="a-1"} 5', 'larder_namespace_disk_bytes{namespace="default"} 7',
        'larder_namespace_disk_limit_bytes{namespace="a-1"} 10', 'larder_namespace_disk_limit_bytes{namespace="default"} 90',
        'larder_disk_bytes 12', "",
    ])
    assert run("readings", """({ Readings }, text) => {
        const readings = new Readings();
        readings.add({ startDate: 1, hits: 0, misses: 0 }, text, 0);
        return [...readings.latest.disks];
    }""", text) == [["a-1", {"bytes": 5, "limit": 10}], ["default", {"bytes": 7, "limit": 90}]]


READINGS = """({ Readings }, looks) => {
    const readings = new Readings();
    for (const [seconds, stats, metrics] of looks) readings.add({ startDate: 1, ...stats }, metrics, seconds * 1000);
    return readings.list.map(({ requestRate, hitRatio, originTime }) => [requestRate, hitRatio, originTime]);
}"""


def metrics(requests, seconds=0, count=0):
    return f"""# HELP larder_http_requests_total Requests.
larder_http_requests_total{{route="getContent",status="200"}} {requests}
larder_http_requests_total{{route="getStats",status="200"}} {requests * 7}
larder_download_duration_seconds_sum {seconds}
larder_download_duration_seconds_count {count}
"""


def test_a_reading_is_the_change_since_the_previous_reading(run):
    assert run("readings", READINGS, [
        [0, {"hits": 10, "misses": 10}, metrics(100)],
        [2, {"hits": 10, "misses": 10}, metrics(100)],
        [4, {"hits": 13, "misses": 11}, metrics(110, 3, 2)],
        # More than half a minute later, the earlier hits and downloads do not count any more.
        [60, {"hits": 13, "misses": 11}, metrics(166, 3, 2)],
        # A restarted server counts from 0.
        [62, {"hits": 1, "misses": 0, "startDate": 2}, metrics(1)],
        [64, {"hits": 2, "misses": 0, "startDate": 2}, metrics(5)],
    ]) == [[None, None, None], [0, None, None], [5, 0.75, 1.5], [1, None, None], [None, None, None], [2, 1, None]]


def test_a_browser_clock_that_is_ahead_does_not_request_a_fresh_entry_at_once(run):
    asked = run("freshness", """({ Freshness }) => {
        let asked = 0;
        const freshness = new Freshness(new AbortController().signal, () => { asked += 1; });
        const entry = { expiryDate: "2020-01-01T00:00:00Z", expiresInSeconds: 0, state: "fresh" };
        for (let time = 0; time < 10; time += 1) freshness.show(entry);
        return asked;
    }""")
    assert asked == 0


PAGES = """({ PagesModel }, steps) => {
    const model = new PagesModel();
    for (const step of steps) {
        if (Array.isArray(step)) model.replace(step);
        else model.apply(step);
    }
    return [model.list, model.running];
}"""


def test_listings_and_events_together_give_the_pages(run):
    stored = {"key": "a", "url": "http://h/a", "state": "complete", "title": "A", "entry": {"digest": "1"}}
    about = {"key": "a", "url": "http://h/a"}
    pages, running = run("pages-model", PAGES, [
        [stored, {"key": "b", "url": "http://h/b", "state": "queued"}],
        {**about, "type": "page.started"},
        {**about, "type": "page.progress", "done": 5, "failed": 2, "found": 9, "bytes": 10},
        {"key": "c", "url": "http://h/c", "type": "page.started"},
        {"key": "b", "url": "http://h/b", "type": "page.finished", "state": "failed", "captured": 0, "missing": 1,
         "bytes": 0, "problem": "no"},
    ])
    # Unknown pages come first. Pages that were running at the time of the listing come before the others.
    assert [page["key"] for page in pages] == ["c", "b", "a"] and running == ["c", "a"]
    assert pages[1]["state"] == "failed" and pages[1]["lastCapture"]["problem"] == {"detail": "no"}
    progress = {"state": "fetching", "found": 9, "captured": 3, "missing": 2, "bytes": 10}
    assert pages[2] == {**stored, "state": "fetching", "lastCapture": progress}


def test_a_listing_keeps_the_known_size_of_a_page_until_its_next_capture(run):
    def page(digest, **more):
        return {"key": "a", "url": "http://h/a", "state": "complete", "entry": {"digest": digest}, **more}

    def size(*steps):
        return run("pages-model", PAGES, steps)[0][0].get("bytes")

    read = [page("1", bytes=7, sharedBytes=3)]
    assert size(read, [page("1")]) == 7
    assert size(read, [page("2")]) is None


def test_tasks_take_turns(run):
    assert run("turns", """async ({ Turns }) => {
        const turns = new Turns(2);
        const { signal } = new AbortController();
        let running = 0;
        let most = 0;
        const done = [];
        await Promise.all([1, 2, 3, 4, 5].map((number) => turns.run(async () => {
            most = Math.max(most, running += 1);
            await Promise.resolve();
            running -= 1;
            done.push(number);
        }, signal)));
        await turns.run(async () => done.push("aborted"), AbortSignal.abort());
        return [most, done];
    }""") == [2, [1, 2, 3, 4, 5]]


DIFF = """({ threeWay }, base, theirs, ours) => threeWay(base, theirs, ours)
    .map(({ kind, base, theirs, ours }) => [kind, base.join(""), theirs.join(""), ours.join("")])"""


@pytest.mark.parametrize("base, theirs, ours, chunks", [
    ("", "", "", []),
    ("abc", "abc", "abc", [["same", "abc", "abc", "abc"]]),
    ("abc", "aXc", "abc", [["same", "a", "a", "a"], ["theirs", "b", "X", "b"], ["same", "c", "c", "c"]]),
    ("abc", "abc", "ac", [["same", "a", "a", "a"], ["ours", "b", "b", ""], ["same", "c", "c", "c"]]),
    ("abc", "abXc", "abXc", [["same", "ab", "ab", "ab"], ["both", "", "X", "X"], ["same", "c", "c", "c"]]),
    ("abc", "aXc", "aYYc", [["same", "a", "a", "a"], ["clash", "b", "X", "YY"], ["same", "c", "c", "c"]]),
    # Edits of neighbouring lines are no clash.
    ("ab", "Xb", "aY", [["theirs", "a", "X", "a"], ["ours", "b", "b", "Y"]]),
    ("", "X", "Y", [["clash", "", "X", "Y"]]),
    ("a", "", "a", [["theirs", "a", "", "a"]]),
])
def test_two_edits_are_compared_with_their_base(run, base, theirs, ours, chunks):
    assert run("line-diff", DIFF, *map(list, (base, theirs, ours))) == chunks


def test_the_parts_of_a_comparison_are_the_three_texts(run):
    choice = random.Random(7)

    def text(alphabet, length):
        return [choice.choice(alphabet) for _ in range(choice.randrange(length))]

    def edited(lines):
        return [choice.choice("abX") if choice.random() < 0.2 else line for line in lines if choice.random() < 0.9]

    triples = []
    for _ in range(300):
        base = text("abc", 30)
        triples.append([base, edited(base), edited(base)])
    found = run("line-diff", """({ threeWay }, triples) => triples.map((three) => threeWay(...three))""", triples)
    for (base, theirs, ours), chunks in zip(triples, found):
        for side, lines in (("base", base), ("theirs", theirs), ("ours", ours)):
            assert [line for chunk in chunks for line in chunk[side]] == lines
        for chunk in chunks:
            sides = chunk["base"], chunk["theirs"], chunk["ours"]
            assert {"same": sides[0] == sides[1] == sides[2], "theirs": sides[0] == sides[2] != sides[1],
                    "ours": sides[0] == sides[1] != sides[2], "both": sides[1] == sides[2] != sides[0],
                    "clash": len({tuple(side) for side in sides}) == 3}[chunk["kind"]], chunk


def test_long_texts_with_many_differences_are_compared_at_their_ends(run):
    kinds = run("line-diff", """({ threeWay }) => {
        const lines = (word) => ["first", ...Array.from({ length: 20000 }, (_, number) => word + number), "last"];
        return threeWay(lines("a"), lines("b"), lines("a")).map(({ kind, base }) => [kind, base.length]);
    }""")
    assert kinds == [["same", 1], ["theirs", 20000], ["same", 1]]


@pytest.mark.parametrize("texts, end", [
    ([], "\n"), (["a"], "\n"), (["a\r\nb", "c"], "\r\n"), (["a\r\nb\n"], "\n"), (["a\r\n", "b\n"], "\n"),
])
def test_the_line_end_of_texts_is_the_one_that_all_have(run, texts, end):
    assert run("line-diff", "({ lineEndOf }, texts) => lineEndOf(texts)", texts) == end


@pytest.mark.parametrize("source, text", [
    ('{"b":1.50,"a":[1e400,{}],"c":{}}', '{\n  "a": [\n    1e400,\n    {}\n  ],\n  "b": 1.50,\n  "c": {}\n}'),
    ('"\\u0061"', '"a"'), ("[]", "[]"), (" 12345678901234567890 ", "12345678901234567890"),
    ('{"__proto__":1,"a":"__proto__"}', '{\n  "__proto__": 1,\n  "a": "__proto__"\n}'), ("{", None), ("", None),
    ("[" * 300 + "]" * 300, None),
])
def test_json_with_the_same_content_has_the_same_text(run, source, text):
    assert run("json-tree", """({ parseTree, printed }, source) => {
        const tree = parseTree(source);
        return tree === null ? null : printed(tree, true);
    }""", source) == text


@pytest.mark.parametrize("base, theirs, ours, merged", [
    ('{"a":1,"b":1}', '{"a":2,"b":1}', '{"a":1,"b":3}', '{"a":2,"b":3}'),
    # Where both sides clash, ours wins.
    ('{"a":1}', '{"a":2}', '{"a":3}', '{"a":3}'),
    ('{"a":{"x":1,"y":1}}', '{"a":{"x":2,"y":1}}', '{"a":{"x":1,"y":2}}', '{"a":{"x":2,"y":2}}'),
    # A missing member is not null, and arrays are whole.
    ('{"a":1,"b":1}', '{"b":1}', '{"a":1,"b":null}', '{"b":null}'),
    ('{"a":[1]}', '{"a":[1,2]}', '{"a":[0]}', '{"a":[0]}'),
    ('{}', '{"t":1.0}', '{"o":1e400}', '{"t":1.0,"o":1e400}'),
    ('{"a":1}', '{"__proto__":2,"a":1}', '{"a":1,"constructor":3}', '{"__proto__":2,"a":1,"constructor":3}'),
])
def test_two_edits_of_json_are_merged_member_by_member(run, base, theirs, ours, merged):
    text = run("json-tree", """({ mergedTree, parseTree, printed }, ...sources) => printed(
        mergedTree(...sources.map(parseTree)))""", base, theirs, ours)
    assert "".join(text.split()) == merged


def change(id, state, lane="a", **more):
    return {"id": id, "url": "http://h/a", "method": "PUT", "lane": lane, "state": state, "problem": None,
            "attempts": 0, "createdDate": f"2026-01-31T08:00:{id:02}.000Z", "nextAttemptDate": None, **more}


LANES = """({ LanesModel }, changes, events, states) => {
    const model = new LanesModel();
    model.replace(changes);
    for (const event of events) model.apply(event, states);
    return [model.lanes.map(({ name, changes, isStopped }) => [name, changes.map(({ id }) => id), isStopped]),
        model.counts, model.oldest];
}"""


def test_changes_are_grouped_in_lanes_and_stopped_lanes_come_first(run):
    changes = [change(1, "done", "z"), change(2, "pending", "b"), change(3, "pending", "__proto__"),
               change(4, "conflict", "c"), change(5, "pending", "b")]
    events = [{"id": 3, "state": "rejected", "attempts": 1, "problem": "rejected"}, {"id": 99, "state": "sending"}]
    lanes, counts, oldest = run("lanes-model", LANES, changes, events, ["pending", "conflict", "rejected", "done"])
    assert lanes == [["__proto__", [3], True], ["c", [4], True], ["z", [1], False], ["b", [2, 5], False]]
    assert counts == [["pending", 2], ["conflict", 1], ["rejected", 1], ["done", 1]]
    assert oldest == "2026-01-31T08:00:02.000Z"


def test_a_change_that_leaves_the_listed_states_leaves_its_lane(run):
    events = [{"id": 1, "state": "done", "attempts": 1}]
    assert run("lanes-model", LANES, [change(1, "sending")], events, ["pending", "sending"]) == [[], [], None]


def test_the_decisions_about_a_change_depend_on_its_state(run):
    def decisions(state, method="PUT", kind=None, base="version"):
        problem = {"kind": kind, "status": None} if kind else None
        return run("change-words", "({ decisionsOf }, change) => decisionsOf(change)", {
            "state": state, "method": method, "problem": problem, "base": base})

    assert decisions("conflict", kind="clash") == ["ours", "theirs", "edit", "retry", "cancel"]
    assert decisions("conflict", "DELETE", "clash") == ["ours", "theirs", "retry", "cancel"]
    assert decisions("rejected", kind="unreadable") == ["ours", "edit", "retry", "cancel"]
    assert decisions("uncertain", kind="redirected") == ["ours", "edit", "retry", "cancel"]
    assert decisions("rejected", kind="redirected") == ["edit", "retry", "cancel"]
    assert decisions("uncertain", "POST", "unknownOutcome") == ["retry", "cancel"]
    assert decisions("blocked") == decisions("pending") == ["retry", "cancel"]
    assert decisions("done") == decisions("confirmed") == ["revert"]
    assert decisions("done", "POST") == decisions("done", base="blind") == []
    assert all(decisions(state) == [] for state in ("sending", "cancelled", "expired", "a newer state"))


def test_a_task_runs_once_more_after_calls_during_a_run(run):
    assert run("repeat", """async ({ oneAtATime }) => {
        const log = [];
        let finish;
        const { signal } = new AbortController();
        const call = oneAtATime(async () => {
            log.push("begin");
            await new Promise((resolve) => { finish = resolve; });
            log.push("end");
        }, signal);
        const whole = call();
        await Promise.all([call(), call()]);
        finish();
        await new Promise((resolve) => setTimeout(resolve));
        finish();
        await whole;
        return log;
    }""") == ["begin", "end", "begin", "end"]
