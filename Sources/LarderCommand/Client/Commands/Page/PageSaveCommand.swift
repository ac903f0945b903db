import ArgumentParser
import DiskCache
import LarderClient
import Primitives

struct PageSaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Capture the page at a URL with its images, styles, fonts, frames and media.",
        discussion: """
            Prints the page. Without --wait, the capture goes on in the server. With --wait, on a terminal, shows the \
            progress; after Ctrl-C the capture goes on. Exit status with --wait: 0 if the capture is complete, \
            \(ExitStatus.partial.rawValue) if it lacks resources, \(ExitStatus.failed.rawValue) if it failed. \
            Other users of this machine can see the arguments of a command, and so its cookies and header fields.
            """)

    @Argument(help: "The URL.") var url: String
    @Flag(help: "Wait for the end of the capture.") var wait = false
    @Option(
        "Mode: static, without scripts; rendered, in a browser; or auto, in a browser if the server has one. "
            + "[default: auto]", value: "mode", completion: .list(["auto", "static", "rendered"]))
    var mode: String?
    @Option("Time that the page stays fresh. [default: the server's --default-ttl]", value: "duration")
    var ttl: Seconds?
    @Flag(help: "Restart the TTL of the page whenever it is opened.") var updateExpiry = false
    @Option("Tag of the page. Repeatable.", value: "tag", name: .customLong("tag")) var tags: [String] = []
    @Flag(help: "Pin the page, so that it is never evicted.") var pinned = false
    @Option(
        "File with an HTML document in UTF-8 that replaces the document of the URL, as for a page behind a login; - is "
            + "standard input.", value: "file", completion: .file())
    var html: String?
    @Option(
        "Header field for the origin of the page, such as 'Accept-Language: en'. Repeatable.", value: "field",
        name: .customLong("header"))
    var headers: [HeaderArgument] = []
    @Option("Cookie for the origin of the page. Repeatable.", value: "name=value", name: .customLong("cookie"))
    var cookies: [String] = []
    @Option("Time limit of the capture, in seconds. [default: 60]", value: "seconds") var maxSeconds: Int?
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let page = try await capture(try request(), client)
            try page.print(options)
        }
    }

    private func request() throws(CommandFailure) -> CaptureOptions {
        var request = CaptureOptions()
        request.mode = mode
        request.ttl = ttl
        request.updateExpiry = updateExpiry
        request.tags = tags
        request.pinned = pinned
        request.headers = headers.map { ($0.name, $0.value) }
        request.cookies = cookies
        request.maxSeconds = maxSeconds
        if let html {
            request.html = String(validating: try InputFile(html).read(), as: UTF8.self)
            guard request.html != nil else {
                throw CommandFailure(.usage, "the document of --html is not UTF-8; convert it, for example with iconv")
            }
        }
        return request
    }

    private func capture(_ request: CaptureOptions, _ client: APIClient) async throws -> HeldPage {
        let draws = wait && Console.error.canRedraw && !options.json
        let key = draws ? (try? CanonicalURL(url)).map { CacheKey.page(canonical: $0.string).text } : nil
        return try await withThrowingTaskGroup(of: Void.self) { group in
            if let key {
                group.addTask {
                    var display = ProgressDisplay(.error)
                    await ProgressPoll.run {
                        try? await client.page(key)
                    } show: { page in
                        display.draw { width in page.flatMap { $0.progress(width: width) }.map { [$0] } ?? [] }
                    }
                    display.clear()
                }
            }
            defer { group.cancelAll() }
            return try await client.capture(url, request, waits: wait)
        }
    }
}

extension HeldPage {
    /// `nil` when no capture is running.
    func progress(width: Int) -> String? {
        guard isRunning else { return nil }
        let title = LogText.words(url).shortened(to: max(12, width / 3))
        guard state == "fetching", let captured, let found = lastCapture?["found"]?.countValue, found > 0 else {
            return ProgressLine(title: title, details: [state]).text(width: width)
        }
        let missing = missing ?? 0
        var details = ["\(captured) of \(found)"]
        if let bytes = lastCapture?["bytes"]?.countValue { details.append(Words.bytes(bytes)) }
        if missing > 0 { details.append("\(missing) missing") }
        let fraction = Double(captured.addingClamped(missing)) / Double(found)
        return ProgressLine(title: title, fraction: fraction, details: details).text(width: width)
    }
}
