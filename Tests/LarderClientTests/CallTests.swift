import HTTPTypes
import Primitives
import Testing

@testable import LarderClient

@Suite("The client parses server addresses and durations, and forms the paths and queries of calls")
struct CallTests {
    @Test(
        "Server addresses that differ in letter case, final slashes or a stated default port have the same form",
        arguments: [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("HTTP://LOCALHOST:80/", "http://localhost"),
            ("https://cache.example/larder//", "https://cache.example/larder"), ("http://[::1]:1/", "http://[::1]:1"),
        ])
    func address(text: String, expected: String) throws {
        #expect(try ServerAddress(text).description == expected)
    }

    @Test(
        "An invalid server address is refused, and the error does not repeat a password in it",
        arguments: ["", "localhost:8080", "ftp://h/", "http://h/?a=b", "http://me:secret@h/", "http://"])
    func noAddress(text: String) {
        let error = #expect(throws: ServerAddress.Invalid.self) { try ServerAddress(text) }
        #expect(error?.description.contains("address") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test("A key with any characters is a single path segment, and a query omits absent values")
    func target() {
        #expect(APICall(["entries", "a b/é%?", "content"]).target == "/entries/a%20b%2F%C3%A9%25%3F/content")
        #expect(APICall(["entries", "-._~"]).target == "/entries/-._~")
        #expect(APICall(["stats"]).target == "/stats")
        let query: APICall.Query = [("tags", "b,c"), ("tags", "a"), ("none", nil), ("ttl", "")]
        #expect(APICall(["x"], query: query).target == "/x?tags=a&tags=b%2Cc&ttl=")
    }

    @Test("A name with :// is a URL, and any other name is a key")
    func reference() {
        #expect(EntryReference("HTTPS://h/a") == .url("HTTPS://h/a"))
        for text in ["report-2026", "d41d8cd98f00b204e9800998ecf8427e", "a:b", "http:x", ""] {
            #expect(EntryReference(text) == .key(text))
        }
    }

    @Test("A duration is a non-negative number with or without a unit, and keeps its spelling")
    func seconds() {
        for text in ["0", "3600", "0.5", "1e3", "90s", "1.5h", "7d"] { #expect(Seconds(text)?.description == text) }
        for text in [
            "", "-1", "h", "1w", "-1h", "+1h", "1h30m", "1 h", "+1", ".5", "nan", "0x10", "true", "\"1\"",
        ] {
            #expect(Seconds(text) == nil)
        }
    }

    @Test("Printing, reflecting or dumping a token does not show its secret")
    func token() throws {
        let token = try #require(BearerToken(" larder_me_s3cret\n"))
        #expect(token.credentials == "Bearer larder_me_s3cret")
        #expect(!"\(token) \(String(reflecting: token))".contains("s3cret"))
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!dumped.contains("s3cret"))
        for text in ["", " ", "a b", "a\u{1}", "é"] { #expect(BearerToken(text) == nil) }
    }

    @Test("The request for a download contains exactly the options that were set")
    func downloadRequest() throws {
        #expect(DownloadOptions().json(url: "http://h/") == ["url": "http://h/"])
        var options = DownloadOptions()
        options.ttl = Seconds("60")
        options.updateExpiry = true
        options.staleIfError = Seconds("0.5")
        options.params = [("b", "1"), ("a", "x"), ("b", "2")]
        options.headers = [("Accept", "text/csv")]
        options.tags = ["t"]
        options.pinned = true
        let expected =
            #"{"url":"u","ttl":60,"staleIfError":0.5,"updateExpiry":true,"pinned":true,"#
            + #""params":{"b":["1","2"],"a":"x"},"headers":{"Accept":"text/csv"},"tags":["t"]}"#
        #expect(options.json(url: "u").text == expected)
        #expect(options.json(url: "u", ttl: Seconds("5"))["ttl"] == 5)
        #expect(options.json(url: "u", ttl: Seconds("15m"))["ttl"] == "15m")
    }

    @Test("A problem states its error; an error answer that is not a problem is taken for the answer of another server")
    func problem() {
        let json = #"{"type":"about:blank","title":"x","status":429,"detail":"too often","pointer":"/url"}"#
        let problem = ServerProblem(status: 429, fields: [.retryAfter: "3"], body: Array(json.utf8))
        #expect(!problem.isForeign && problem.detail == "too often" && problem.pointer == "/url")
        #expect(problem.retryAfter == .seconds(3))
        for body in ["<html>", "{}", ""] {
            let foreign = ServerProblem(status: 502, fields: [.retryAfter: "soon"], body: Array(body.utf8))
            #expect(foreign.status == 502 && foreign.retryAfter == nil && foreign.isForeign)
            #expect(foreign.detail.contains("LARDER_SERVER"))
        }
    }

    @Test("A Retry-After that does not fit into 64 bits counts as a day, and a sign as no Retry-After")
    func longRetryAfter() {
        for (text, wait) in [
            ("99999999999999999999", .seconds(86_400)), ("86401", .seconds(86_400)), ("7", .seconds(7)), ("-7", nil),
            ("+7", nil), ("", nil),
        ] as [(String, Duration?)] {
            #expect(ServerProblem(status: 503, fields: [.retryAfter: text], body: []).retryAfter == wait, "\(text)")
        }
    }
}
