import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Secrets of pages")
struct PageSecretTests {
    private static let namespace = HTTPField.Name("Larder-Namespace")!

    /// Starts a server that logs each request.
    private func start(_ directory: TemporaryDirectory) async throws -> (LarderProcess, CheckedClient) {
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--log-level", "trace"])
        return (larder, CheckedClient(port: larder.port))
    }

    private func capture(_ client: CheckedClient, _ members: JSON, fields: HTTPFields = [:]) async throws -> HTTPReply {
        var fields = fields
        fields[.contentType] = "application/json"
        fields[HTTPField.Name("Prefer")!] = "wait=60"
        return try await client.request("POST", "/pages", fields: fields, body: members.utf8)
    }

    @Test("No ticket is in the log of all requests, and the path of /fetch for a URL with /view/ is")
    func tickets() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let (larder, client) = try await start(directory)
        let made = try await client.request(
            "PUT", "/namespaces/a", fields: [.contentType: "application/json"], text: "{}")
        #expect(made.status == 200)
        let key = md5(origin.url("/")) + "-page"
        let body: JSON = ["url": .string(origin.url("/"))]
        var tickets: [String] = []
        for (name, prefixes) in [("default", [""]), ("a", ["/@a", "/%40a"])] {
            #expect(try await capture(client, body, fields: [Self.namespace: name]).status == 200)
            for prefix in prefixes {
                let opened = try await client.request("GET", "\(prefix)/pages/\(key)/view")
                let ticket = String(try #require(opened["Location"]?.split(separator: "/").last))
                tickets.append(ticket)
                let place = "\(prefix)/pages/\(key)/view/\(ticket)/"
                let requests = [
                    ("GET", place, 200), ("GET", place + origin.url("/"), 200), ("HEAD", place + origin.url("/"), 200),
                    ("GET", place + "https://never.example/", 404), ("GET", place + "nonsense", 400),
                    ("GET", place + "?x=1", 400), ("POST", place, 405), ("DELETE", place + origin.url("/"), 405),
                    ("GET", String(place.dropLast()), 404), ("PUT", String(place.dropLast()), 404),
                    ("GET", "\(prefix)/pages/none/view/\(ticket)/", 404),
                    ("GET", place.replacing("/view/", with: "/%76iew/"), 404),
                    ("GET", place.replacing("/view/", with: "/view//"), 404),
                    ("GET", "\(prefix)/pages/\(key)/text/\(ticket)", 404),
                ]
                for (method, path, status) in requests {
                    let reply = try await client.request(method, path)
                    #expect(reply.status == status, "\(method) \(path): \(reply.text)")
                }
            }
        }
        let fetched = "/fetch/" + origin.url("/view/image.png")
        #expect(try await client.request("GET", fetched).status == 200)
        #expect(try await larder.stop() == .status(0))
        let paths = larder.logLines("request").compactMap { $0["path"]?.stringValue }
        #expect(paths.contains(fetched) && paths.contains("/pages/\(key)/view") && paths.contains("/pages"))
        #expect(paths.count { $0 == "…" } == 3 * 14, "\(paths)")
        for ticket in tickets { #expect(!larder.process.output.contains(ticket)) }
    }

    @Test("Cookies and fields of a capture, and cookies of its origin, are in no log, event, other answer or export")
    func credentials() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isPage = request.target == "/"
            try connection.respond(
                request.target == "/broken.png" ? 500 : 200,
                fields: [.contentType: isPage ? "text/html" : "image/png", .setCookie: "set=hush-origin; Path=/"],
                body: isPage ? "<title>Plain</title><img src=own.png><img src=broken.png>" : "own")
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let (larder, client) = try await start(directory)
        let events = try await EventListener(port: larder.port)
        let url = JSON.string(origin.url("/"))
        let captured = try await capture(
            client,
            [
                "url": url, "cookies": ["sid=hush-cookie"],
                "headers": ["X-Key": "hush-field", "Authorization": "Basic hush-password"],
            ])
        #expect(try captured.member("state") == "partial")
        let own = try #require(origin.requests.first { $0.target == "/own.png" })
        for secret in ["hush-cookie", "hush-origin"] { #expect(own["Cookie"]?.contains(secret) == true) }
        #expect(own["X-Key"] == "hush-field" && own["Authorization"] == "Basic hush-password")
        // This capture fails, and its log line names the reason.
        let missing = try RefusingPort()
        let failed = try await capture(
            client,
            ["url": .string(missing.url("/")), "cookies": ["sid=hush-cookie"], "headers": ["X-Key": "hush-field"]])
        #expect(failed.status == 502)
        try await events.wait("the end of the captures") { event in
            event.type == "page.finished" && event.data["url"]?.stringValue == missing.url("/")
        }

        let key = md5(origin.url("/")) + "-page"
        let opened = try await client.request("GET", "/pages/\(key)/view")
        let place = try #require(opened["Location"])
        var answers = [captured, failed, opened]
        let pages = ["", "/\(key)", "/\(key)/resources", "/\(key)/text"].map { "/pages" + $0 }
        let others = [
            "/entries", "/entries/\(key)", "/entries/\(key)/content", "/downloads", "/stats", "/metrics",
            "/explain?url=\(origin.url("/").percentEncoded)", "/namespaces", place,
        ]
        for path in pages + others + ["/", "/own.png"].map({ place + origin.url($0) }) {
            let answer = try await client.request("GET", path)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            answers.append(answer)
        }
        for answer in answers {
            let text = answer.text + answer.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            #expect(!text.contains("hush"), "\(text)")
        }
        let archive = try await client.request("GET", "/pages/\(key)/export").unzipped()
        #expect(archive.contains("WARC/1.1") && archive.contains("<title>Plain</title>"))
        #expect(!archive.contains("hush"), "\(archive)")
        #expect(!String(decoding: events.text, as: UTF8.self).contains("hush"))
        #expect(try await larder.stop() == .status(0))
        #expect(larder.logLines("capture failed").count == 1 && larder.logLines("request").count > 10)
        #expect(!larder.process.output.contains("hush"))
    }
}

extension HTTPReply {
    /// The text of a body that consists of gzip members.
    func unzipped() async throws -> String {
        let directory = try TemporaryDirectory()
        try directory.write(body, to: "body.gz")
        let output = try await blocking { try ChildProcess.run("gzip", ["-dc", directory.path("body.gz")]) }
        #expect(output.exit == .status(0), "\(output.text)")
        return output.text
    }
}
