import Foundation
import Primitives
import Testing

@testable import LarderClient
@testable import LarderCommand

@Suite("The output and arguments of commands for the outbox")
struct OutboxOutputTests {
    private let now = Date(timeIntervalSince1970: 1_769_846_709)

    @Test("The lines of a list fit the terminal, and a program gets all cells")
    func list() throws {
        let url = "http://h.example/" + String(repeating: "very-long/", count: 30) + "end\u{1b}]0;x\u{7}"
        let change = try OutboxChange.sample(
            "conflict",
            [
                .init("url", .string(url)), .init("lane", "mine\n"), .init("problem", ["kind": "clash"]),
                .init("nextAttemptDate", .null),
            ])
        for width in [40, 80, 120, 500] {
            var table = Table(titles: OutboxChange.shownTitles)
            table.add(change.shownCells(now: now))
            let lines = table.lines(forTerminal: true, width: width)
            #expect(lines.count == 2 && lines.allSatisfy { $0.count <= width && !$0.contains("\u{1b}") }, "\(width)")
            #expect(lines[0].hasPrefix("URL ") && lines[1].contains("  7   PUT"))
        }
        var plain = Table(titles: nil)
        plain.add(change.cells(now: now))
        plain.add(try OutboxChange.sample("pending").cells(now: now))
        let expected = "7\tconflict\tPUT\t1\t2026-01-31T08:05:09.250Z\t\tclash\t"
        #expect(
            plain.lines(forTerminal: false) == [
                expected + url.replacing("\u{1b}", with: "\\u{1b}").replacing("\u{7}", with: "\\u{7}") + "\tmine\\n",
                "7\tpending\tPUT\t1\t2026-01-31T08:05:09.250Z\t\t\thttp://h/a\t",
            ])
    }

    @Test("A change is shown with its problem in words on a terminal, and with the kind elsewhere")
    func report() throws {
        let change = try OutboxChange.sample(
            "blocked",
            [
                .init("problem", ["kind": "credential", "status": 401]), .init("credential", "notes"),
                .init("nextAttemptDate", "2026-01-31T09:05:10.000Z"), .init("mayBeApplied", true),
                .init("unguarded", true), .init("onConflict", "merge"), .init("lane", "mine"),
                .init("expiryDate", "2026-02-07T08:05:10.000Z"),
            ])
        #expect(
            change.report(now: now).lines(forTerminal: true) == [
                "id           7", "url          http://h/a", "method       PUT", "lane         mine",
                "state        blocked", "problem      the origin refuses the credential", "answer       status 401",
                "attempts     1", "created      in 0 s", "next         in 1 h", "expires      in 7 d",
                "credential   notes", "on conflict  merge", "applied      perhaps", "guarded      no",
            ])
        #expect(change.report(now: now).lines(forTerminal: false).contains("problem\tcredential"))
        let done = try OutboxChange.sample("done", [.init("mayBeApplied", true)]).report(now: now)
        #expect(done.lines(forTerminal: false).count == 6)
    }

    @Test("A change that stopped or ended without an effect names its problem, and the commands that go on")
    func failures() throws {
        for state in ["pending", "sending", "confirmed", "done"] as [JSON] {
            #expect(try OutboxChange.sample(state).failure == nil)
        }
        for state in ["conflict", "uncertain", "blocked", "rejected"] {
            let change = try OutboxChange.sample(.string(state))
            #expect(change.isStopped && change.advice?.contains("\"larder ") == true)
            #expect(change.failure?.hasPrefix("change 7 is in the state \(state); ") == true)
        }
        let expired = try OutboxChange.sample("expired", [.init("problem", ["kind": "unreachable"])])
        #expect(expired.failure == "change 7 is in the state expired: the origin cannot be reached")
        let newer = try OutboxChange.sample("expired", [.init("problem", ["kind": "aNewKind"])])
        #expect(newer.problemWords == "aNewKind")
    }

    @Test("The progress of a change names its state, and fits the terminal")
    func progress() throws {
        let change = try OutboxChange.sample(
            "pending", [.init("problem", ["kind": "unreachable"]), .init("nextAttemptDate", "soon\u{1b}")])
        #expect(
            change.progress(width: 100)
                == "http://h/a  pending  next soon\\u{1b}  1 attempt  the origin cannot be reached")
        #expect(change.progress(width: 24) == "http://h/a  pending")
        for width in 1...100 { #expect(change.progress(width: width).count < width) }
    }

    @Test(
        "The arguments of larder outbox send must name one content, and one version that the author saw",
        arguments: [
            ([], "no content"), (["--method", "PUT"], "no content"),
            (["--data", "1", "--file", "x"], "exclude each other"), (["--data", "1", "--patch", "{}"], "exclude"),
            (["--method", "delete", "--data", "1"], "has no content"),
            (["--method", "PATCH", "--data", "1"], "--patch"),
            (["--method", "GET", "--data", "1"], "GET"), (["--patch", "{}", "--content-type", "x/y"], "needs --file"),
            (["--data", "1", "--base", "x", "--seen", "y"], "only one"),
            (["--file", "-", "--seen", "-"], "standard input"), (["--patch", "@-", "--seen", "-"], "standard input"),
            (["--data", "1", "--expires", "soon"], "soon"),
        ])
    func wrongArguments(arguments: [String], words: String) {
        let error = #expect(throws: (any Error).self) { try OutboxSendCommand.parse(["http://h/a"] + arguments) }
        #expect(error.map { OutboxSendCommand.message(for: $0).contains(words) } == true, "\(arguments)")
    }

    @Test("The content of a change is a body with its media type, or a patch")
    func content() throws {
        func content(_ arguments: String...) throws -> JSON {
            var request = ChangeOptions()
            request.content = try ChangeContentOptions.parse(arguments).read()
            return request.json(url: "u")
        }
        let type: JSON = ["Content-Type": "application/json"]
        #expect(try content("--data", #"{"n": 1.0}"#) == ["url": "u", "text": #"{"n": 1.0}"#, "headers": type])
        #expect(try content("--data", "-1") == ["url": "u", "text": "-1", "headers": type])
        #expect(try content("--data", "words") == ["url": "u", "text": "words"])
        #expect(
            try content("--data", "a,b", "--content-type", "text/csv")
                == ["url": "u", "text": "a,b", "headers": ["Content-Type": "text/csv"]])
        #expect(ChangeContentOptions.type(of: [0xff]) == "application/octet-stream")
        #expect(try content("--patch", #"[{"op": "remove", "path": "/a"}]"#)["patch"]?.arrayValue?.count == 1)
        #expect(try content("--method", "delete") == ["url": "u"])
        let failure = #expect(throws: CommandFailure.self) { try content("--patch", "{") }
        #expect(failure?.status == .usage && failure?.description.contains("--patch is not valid JSON") == true)
        #expect(throws: CommandFailure.self) { try content("--patch", "@/none/such") }
    }

    @Test(
        "An entity tag gets the quotes that a shell has removed",
        arguments: [
            ("abc", "\"abc\""), ("\"abc\"", "\"abc\""), ("W/\"abc\"", "W/\"abc\""), ("absent", "absent"),
            ("blind", "blind"),
        ])
    func tag(base: String, expected: String) {
        #expect(OutboxSendCommand.tag(base) == expected)
    }

    @Test(
        "A decision about a change is one side or another body, and a squash needs several changes",
        arguments: [
            ["outbox", "resolve", "7"], ["outbox", "resolve", "7", "--take", "ours", "--file", "x"],
            ["outbox", "resolve", "7", "--take", "both"], ["outbox", "squash", "7"], ["outbox", "retry", "x"],
            ["outbox", "show"], ["credential", "put", "notes", "--origin", "https://h"],
            ["credential", "put", "notes", "--header", "A: b"],
            ["credential", "put", "notes", "--origin", "https://h", "--header", "A"],
        ])
    func wrongDecisions(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try LarderCommand.parseAsRoot(arguments) }
        #expect(error.map { LarderCommand.exitCode(for: $0).rawValue } == 64)
    }

    @Test("The fields of a credential are read from the lines of a file, and an error does not repeat a line")
    func fields() throws {
        let text = "Authorization: Bearer a:b \r\n\n  X-Key:c\n"
        let fields = try CredentialPutCommand.fields(in: Array(text.utf8))
        #expect(fields.map { "\($0.name)=\($0.value)" } == ["Authorization=Bearer a:b", "X-Key=c"])
        #expect(try CredentialPutCommand.fields(in: []).isEmpty)
        let failure = #expect(throws: CommandFailure.self) {
            try CredentialPutCommand.fields(in: Array("A: b\ns3cret".utf8))
        }
        #expect(failure?.description == "line 2 of --header-file is no field; expected Name: value")
        #expect(failure?.status == .usage)
        #expect(throws: CommandFailure.self) { try CredentialPutCommand.fields(in: [0x41, 0x3a, 0xff]) }
    }

    @Test("An event of the outbox is printed with the id, the state and the problem of the change")
    func event() throws {
        let data = #"{"url": "http://h/a", "id": 7, "state": "conflict", "problem": "clash"}"#
        let event = try ServerEvent(.init(type: "outbox.changed", id: "1", data: data))
        #expect(event.text(forTerminal: true) == "outbox.changed  http://h/a  7 conflict, clash")
        let done = try ServerEvent(.init(type: "outbox.changed", id: "2", data: #"{"id": 7, "state": "done"}"#))
        #expect(done.text(forTerminal: false) == "\toutbox.changed\t\t\t7 done")
    }
}
