import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The executable")
struct ProcessTests {
    @Test(
        "Entries survive a restart, and a running server locks its directory against a second server and larder verify")
    func restart() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("cache")
        let first = try await LarderProcess(directory: path)
        _ = try await first.client.request("PUT", "/entries/note/content", text: "hi")
        await #expect(throws: LarderProcess.Failure.self) { try await LarderProcess(directory: path) }
        #expect(try await LarderProcess.verify(path).exit == .status(3))
        #expect(try await first.stop() == .status(0))
        let second = try await LarderProcess(directory: path)
        #expect(try await second.client.request("GET", "/entries/note/content").text == "hi")
        #expect(try await second.stop() == .status(0))
        #expect(try await LarderProcess.verify(path).exit == .status(0))
        #expect(FileManager.default.fileExists(atPath: path + "/CACHEDIR.TAG"))
    }

    @Test("The executable uses jemalloc, because glibc's malloc makes threads wait that free each other's memory")
    func allocator() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        // String(contentsOfFile:) ends after the first page of a file that has no size.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(larder.process.pid)/maps"))
        let maps = try file.readToEnd() ?? Data()
        #expect(String(decoding: maps, as: UTF8.self).contains("/libjemalloc.so.2"))
        #expect(try await larder.stop() == .status(0))
    }

    @Test("SIGTERM immediately after the log line `listening` ends the server with status 0")
    func stoppedAtOnce() async throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<5 {
            #expect(try await LarderProcess(directory: directory.path("cache")).stop() == .status(0))
        }
    }

    @Test("A log without a reader delays neither calls nor the server's exit, and reports the number of lost lines")
    func unreadLog() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("log")
        try #require(mkfifo(path, 0o600) == 0)
        let log = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        try #require(log >= 0)
        defer { close(log) }
        let process = try ChildProcess(
            "sh",
            [
                "-c", "exec \"$0\" \"$@\" 2>\"$LOG\"", LarderProcess.executable, "serve", "--port", "0",
                "--directory", directory.path("cache"), "--log-level", "debug",
            ], environment: ["LOG": path, "LARDER_CONFIG": nil])
        let text = Locked("")
        let readLog = { @Sendable in
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = read(log, &bytes, bytes.count)
            text.withLock { $0 += String(decoding: bytes[..<max(0, count)], as: UTF8.self) }
        }
        try await poll("larder listening") {
            readLog()
            return text.withLock { LarderProcess.port(in: $0) != nil }
        }
        let port = try #require(LarderProcess.port(in: text.withLock(\.self)))
        let spaces = [UInt8](repeating: 0x20, count: 4096)
        while write(log, spaces, spaces.count) > 0 {}
        let client = HTTPClient(port: port)
        for number in 0..<20 {
            #expect(try await client.request("PUT", "/entries/\(number)/content", text: "hi").status == 200)
        }
        readLog()
        #expect(try await client.request("GET", "/entries/0/content").status == 200)
        try await poll("the log line about lost lines") {
            readLog()
            return text.withLock { $0.contains("log lines were lost") }
        }
        while write(log, spaces, spaces.count) > 0 {}
        process.kill(SIGTERM)
        try await poll("the exit of the server") { process.hasExited != nil }
        #expect(process.hasExited == .status(0))
    }

    @Test("SIGUSR2 does not end the server, because operators may send it from habit with other servers")
    func unknownSignal() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        larder.process.kill(SIGUSR2)
        #expect(try await larder.client.request("GET", "/livez").status == 200)
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "After SIGTERM, /readyz answers 503, requests in the drain delay succeed, and the server exits with status 0"
    )
    func drain() async throws {
        let gate = Gate("the origin's answer")
        let origin = try ScriptedOrigin { _, connection in
            try gate.waitBlocking()
            try connection.respond(body: "late")
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--drain-delay", "5", "--drain-timeout", "20"])
        let call: JSON = ["url": .string(origin.url("/a"))]
        let client = larder.client
        async let waiting = client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
        try await origin.waitForRequests(1)
        #expect(try await larder.client.request("GET", "/readyz").status == 200)
        larder.process.kill(SIGTERM)
        try await poll("the 503 of /readyz") {
            (try? HTTPReply.blocking(port: larder.port, "/readyz"))?.status == 503
        }
        let late = try await larder.client.request("GET", "/livez", fields: [.connection: "keep-alive"])
        #expect(late.status == 200)
        #expect(late["Connection"]?.lowercased() == "close")
        gate.open()
        #expect(try await waiting.status == 200)
        #expect(try await larder.process.wait() == .status(0))
    }

    @Test("After --drain-timeout, the server exits with status 0, even if an origin and a client are silent")
    func drainTimeout() async throws {
        let gate = Gate("never")
        let origin = try ScriptedOrigin { _, _ in try gate.waitBlocking() }
        defer {
            gate.open()
            origin.stop()
        }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--drain-timeout", "0.2"])
        let (download, upload) = try await blocking {
            let download = try RawConnection(port: larder.port)
            let call = JSON.object([.init("url", .string(origin.url("/a")))])
            try download.sendRequest("POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
            let upload = try RawConnection(port: larder.port)
            try upload.send("PUT /entries/half/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n")
            try upload.send("Expect: 100-continue\r\n\r\n")
            #expect(try upload.readHead().status == 100)
            try upload.send("half")
            return (download, upload)
        }
        try await origin.waitForRequests(1)
        #expect(try await larder.stop() == .status(0))
        // Neither request gets an answer that looks like a success.
        let statuses = try await blocking { [download, upload].map { try? $0.readReply().status } }
        #expect(statuses.allSatisfy { $0 == nil || $0 == 503 }, "\(statuses)")
        let again = try await LarderProcess(directory: directory.path("cache"))
        #expect(try await again.client.request("GET", "/entries").member("entries") == [])
        _ = try await again.stop()
    }

    @Test("SIGUSR1 and POST /memory/trim return memory to the system, and all bodies are still served")
    func givingMemoryBack() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let (client, count) = (larder.client, 200)
        let body = String(repeating: "x", count: 250_000)
        for number in 0..<count { _ = try await client.request("PUT", "/entries/n\(number)/content", text: body) }
        func readAll() async throws {
            for number in 0..<count {
                let reply = try await client.request("GET", "/entries/n\(number)/content")
                #expect(reply.status == 200 && reply.body.count == 250_000)
            }
        }
        func memoryBytes() async throws -> Int {
            Int(try #require(try await client.request("GET", "/stats").member("memoryBytes")?.doubleValue))
        }
        // A body that is read while the server writes hits to the index is not kept in memory. So the test reads the
        // bodies until most of them are in memory.
        for _ in 0..<20 where try await memoryBytes() < 50_000_000 { try await readAll() }
        #expect(try await memoryBytes() > 50_000_000)
        let resident = larder.residentBytes
        larder.process.kill(SIGUSR1)
        while try await memoryBytes() > 0 { await Task.yield() }
        try await poll("less resident memory") { larder.residentBytes < resident - 40_000_000 }
        try await readAll()
        let held = try await memoryBytes()
        // The trim after SIGUSR1 may still have run during these reads, and may have removed some of the bodies. So the
        // limit is lower than before the trim.
        #expect(held > 45_000_000)

        let some = try await client.request("POST", "/memory/trim?target=10MiB")
        let freed = Int(try #require(try some.member("freedBytes")?.doubleValue))
        #expect(try some.member("memoryBytes") == .number(held - freed))
        #expect(held - freed <= 10 << 20 && held - freed > 9 << 20)
        #expect(try await client.request("POST", "/memory/trim").member("memoryBytes") == 0)
        #expect(try await client.request("POST", "/memory/trim?target=lots").status == 400)
        #expect(try await client.request("GET", "/stats").member("currentMemoryLimit") == .number(256 << 20))
        try await readAll()
        #expect(try await larder.stop() == .status(0))
    }

    @Test("The server raises its soft limit of open files to the hard limit")
    func descriptors() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"),
            wrapper: ["sh", "-c", "ulimit -S -n 64 && ulimit -H -n 512 && exec \"$@\"", "sh"])
        let limits = try String(contentsOfFile: "/proc/\(larder.process.pid)/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        #expect(line?.split(separator: " ").dropFirst(3).prefix(2) == ["512", "512"])
        #expect(try await larder.stop() == .status(0))
    }

    @Test("At the log level debug, each request has one log line, without the query, which may contain a secret")
    func logs() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--log-level", "debug", "--log-format", "json"])
        _ = try await larder.client.request(
            "GET", "/json?url=http://h.example/?token=s3cret", fields: [.authorization: "s3cret"])
        _ = try await larder.client.request("PUT", "/entries/note/content?tags=s3cret", text: "s3cret")
        #expect(try await larder.stop() == .status(0))
        let lines = try larder.process.output.split(separator: "\n").map { try JSON(parsing: String($0)) }
        let requests = lines.filter { $0["message"] == "request" }
        #expect(requests.compactMap { $0["operation"]?.stringValue } == ["getJSON", "putContent"])
        #expect(requests.map { $0["status"] } == [404, 200])
        #expect(!larder.process.output.contains("s3cret"))
    }

    @Test("The server continues after the reader of its log has closed the pipe")
    func closedLog() async throws {
        let directory = try TemporaryDirectory()
        // `sed` exits after the line with the port. Descriptor 3, beside the pipe, tells the test the process id and
        // the exit status.
        let script = """
            exec 3>&1
            { "$1" serve --port 0 --directory "$2" --log-level debug --log-format json 2>&1 &
              echo "pid $!" >&3; wait $!; echo "exit $?" >&3; } | sed -u /listening/q
            """
        let shell = try ChildProcess(
            "/bin/sh", ["-c", script, "sh", LarderProcess.executable, directory.path("cache")])
        try await poll("the first line") { LarderProcess.port(in: shell.output) != nil }
        let port = try #require(LarderProcess.port(in: shell.output))
        let pid = try #require(
            shell.output.split(separator: "\n").first { $0.hasPrefix("pid ") }.flatMap { Int32($0.dropFirst(4)) })
        for _ in 0..<5 { #expect(try await HTTPClient(port: port).request("GET", "/livez").status == 200) }
        kill(pid, SIGTERM)
        _ = try await shell.wait()
        #expect(shell.output.contains("exit 0"), "\(shell.output)")
    }

    @Test("An invalid option stops the start with the option's name and the expected value")
    func options() async throws {
        for (arguments, words) in [
            (["serve", "--port", "99999"], "--port"), (["serve", "--memory-limit", "lots"], "--memory-limit"),
            (["serve", "--layout", "flat"], "hashed or readable"),
            (["serve", "--allow-origin", "10.0.0.0/99"], "--allow-origin"),
            (["serve", "--colour", "red"], "--colour"), (["serve", "--schemes", "gopher"], "--schemes"),
            (["serve", "--allow-origin", ""], "--allow-origin"), (["serve", "--host", ""], "--host"),
            (["serve", "--drain-timeout", "nan"], "--drain-timeout"),
            (["serve", "--config", "/nonexistent"], "\"/nonexistent\": No such file or directory"),
            (["serve", "--config", "/"], "\"/\": Is a directory"), (["verify", "--directory", ""], "--directory"),
        ] {
            let output = try await blocking { try ChildProcess.run(LarderProcess.executable, arguments) }
            #expect(output.exit == .status(64), "\(arguments)")
            #expect(output.text.contains(words), "\(output.text)")
            // The command-line parser adds the usage to its errors; an error about a value is one line.
            if !arguments.contains("--colour") { #expect(output.text.count { $0 == "\n" } == 1, "\(output.text)") }
        }
        let unreadable = ["verify", "--directory", "/" + String(repeating: "x", count: 300)]
        let verify = try await blocking { try ChildProcess.run(LarderProcess.executable, unreadable) }
        #expect(verify.exit == .status(2))
        #expect(verify.text.contains("the cache cannot be checked: opendir") && verify.text.contains("name too long"))
        let help = try await blocking { try ChildProcess.run(LarderProcess.executable, ["serve", "--help"]) }
        #expect(help.exit == .status(0))
        #expect(help.text.contains("LARDER_MEMORY_LIMIT"))
    }

    @Test("A port in use stops the start with the name of the option that chooses another port")
    func portInUse() async throws {
        let origin = try ScriptedOrigin { _, _ in }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let output = try await blocking {
            try ChildProcess.run(
                LarderProcess.executable,
                ["serve", "--port", "\(origin.port)", "--directory", directory.path("cache")])
        }
        #expect(output.exit == .status(1))
        #expect(output.text.contains("--port"), "\(output.text)")
        let admin = try await blocking {
            try ChildProcess.run(
                LarderProcess.executable,
                [
                    "serve", "--port", "0", "--admin-port", "\(origin.port)", "--directory", directory.path("other"),
                ])
        }
        #expect(admin.exit == .status(1))
        #expect(admin.text.contains("127.0.0.1:\(origin.port) is in use"), "\(admin.text)")
        #expect(admin.text.contains("choose another port with --admin-port"), "\(admin.text)")
    }

    @Test("A log record as text is a single line without control characters, even if its values contain them")
    func textLog() async throws {
        let parent = try TemporaryDirectory()
        let process = try ChildProcess(
            LarderProcess.executable,
            [
                "serve", "--port", "0", "--log-format", "text", "--directory",
                parent.path("a b\r\nlevel=\u{1b}[31m\u{9b}2J\u{202e}é\"\\"),
            ], environment: ["LARDER_CONFIG": nil])
        try await poll("listening") { process.output.contains("listening") && process.output.hasSuffix("\n") }
        let line = try #require(process.output.split(separator: "\n").first { $0.contains("listening") })
        let value = #""\#(parent.path)/a b\r\nlevel=\u{1b}[31m\u{9b}2J\u{202e}é\"\\""#
        #expect(line.contains(" directory=\(value) layout="))
        #expect(line.contains(" url=http://127.0.0.1:"))
        #expect(process.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
        process.kill(SIGTERM)
        #expect(try await process.wait() == .status(0))
    }

    @Test("An unknown LARDER_ variable causes a warning with the variable's name, not its value, and the server starts")
    func unknownVariables() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"),
            environment: [
                "LARDER_PROT": "secret", "LARDER_VERSION": "7", "LARDER_PORT": "tcp://10.96.0.7:8080",
                "LARDER_PORT_8080_TCP": "tcp://10.96.0.7:8080",
            ])
        let lines = larder.process.output.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
        let warnings = lines.filter { $0["level"] == "warning" && $0["variable"] != nil }
        #expect(warnings.map { $0["variable"] } == ["LARDER_PROT", "LARDER_VERSION"])
        #expect(!larder.process.output.contains("secret"))
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A configuration file sets options, and a flag overrides it")
    func sources() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("entry-limit: 10\ninline-limit: 0\nschemes: [http, ftp]\n", to: "larder.yaml")
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--config", file, "--entry-limit", "20"])
        #expect(try await larder.client.request("PUT", "/entries/a/content", text: "12345678901").status == 200)
        let reply = try await larder.client.request(
            "PUT", "/entries/a/content", text: String(repeating: "x", count: 21))
        #expect(reply.status == 413)
        #expect(try await larder.client.request("GET", "/entries/a").member("localPath") != .null)
        _ = try await larder.stop()
    }
}

extension HTTPReply {
    /// Sends a `GET` on the calling thread, and returns the answer.
    fileprivate static func blocking(port: UInt16, _ path: String) throws -> HTTPReply {
        let connection = try RawConnection(port: port)
        defer { connection.close() }
        try connection.sendRequest("GET", path)
        return try connection.readReply()
    }
}
