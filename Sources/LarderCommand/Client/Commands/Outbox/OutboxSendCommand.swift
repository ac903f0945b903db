import ArgumentParser
import LarderClient
import Primitives

struct OutboxSendCommand: AsyncParsableCommand {
    enum Method: String, CaseIterable, ExpressibleByArgument {
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case post = "POST"

        init?(argument: String) { self.init(rawValue: argument.uppercased()) }
    }

    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a change of a resource to its origin, now or when the origin is back.",
        discussion: """
            Returns when the change is durable, and prints it. If the resource has changed since, the server merges \
            both edits of JSON. With --wait, returns when the origin has confirmed the change, however long this \
            takes, and shows the state on a terminal; after Ctrl-C the change stays in the outbox. Exit status with \
            --wait: 0 if the origin has confirmed the change, \(ExitStatus.failed.rawValue) if it has stopped or ended \
            without an effect. Other users of this machine can see the arguments of a command; credentials are not \
            among them (see "larder credential").
            """)

    @Argument(help: "The URL of the resource.") var url: String
    @OptionGroup(title: "Content") var content: ChangeContentOptions
    @Option(
        "Version that you saw: its entity tag, absent for a resource that does not exist, or blind to replace any "
            + "version. [default: the version in the cache; without one, absent]", value: "etag|absent|blind")
    var base: String?
    @Option(
        "File with the body that you saw, instead of --base; - is standard input.", value: "file", completion: .file())
    var seen: String?
    @Option(
        "Reaction if the resource has changed: hold, for a decision; merge; theirs or ours, to merge and let this side "
            + "win. [default: merge]", value: "policy", completion: .list(["hold", "merge", "theirs", "ours"]))
    var onConflict: String?
    @Option(
        "Reaction to a POST with a lost answer: hold, for a decision; or retry, although the effect may then happen "
            + "twice. [default: hold]", value: "policy", completion: .list(["hold", "retry"]))
    var onUncertain: String?
    @Option(
        "Header field for the origin, such as 'Prefer: return=minimal'. Repeatable.", value: "field",
        name: .customLong("header"))
    var headers: [HeaderArgument] = []
    @Option("Name of the credential for the request; see \"larder credential\".", value: "name")
    var credential: String?
    @Option("Label of changes that must be sent in order. [default: the URL]", value: "label") var lane: String?
    @Option("Time after which the change is not sent any more. [default: none]", value: "duration")
    var expires: Seconds?
    @Option(
        "Your key for this change. A repeated command with the same key and content is the same change.", value: "key")
    var idempotencyKey: String?
    @Flag(help: "Wait until the origin has confirmed the change.") var wait = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard base == nil || seen == nil else {
            throw ValidationError("--base and --seen both name the version that you saw; give only one of these")
        }
        guard seen != "-" || !content.readsStandardInput else {
            throw ValidationError("--seen and the content cannot both be standard input; use a file for one of these")
        }
    }

    func run() async throws {
        try await options.perform { client in
            let accepted = try await client.send(url, try request())
            guard wait else { return try options.print(accepted) }
            try options.print(try await outcome(of: accepted, client))
        }
    }

    private func request() throws -> ChangeOptions {
        var request = ChangeOptions()
        request.method = content.method?.rawValue
        request.content = try content.read()
        request.base = base.map(Self.tag)
        request.seen = try seen.map { try InputFile($0).read() }
        request.headers = headers.map { ($0.name, $0.value) }
        request.credential = credential
        request.lane = lane
        request.onConflict = onConflict
        request.onUncertain = onUncertain
        request.expires = expires
        request.idempotencyKey = idempotencyKey
        return request
    }

    /// Adds the quotes of an entity tag, which a shell has perhaps removed.
    static func tag(_ base: String) -> String {
        let isWhole = base == "absent" || base == "blind" || base.hasPrefix("\"") || base.hasPrefix("W/")
        return isWhole ? base : "\"\(base)\""
    }

    private func outcome(of accepted: OutboxChange, _ client: APIClient) async throws -> OutboxChange {
        var display = WaitDisplay(options)
        defer { display.clear() }
        let end = try await client.outcome(of: accepted.id) { change in
            display.draw { change.progress(width: $0) }
        }
        guard let failure = end.failure else { return end }
        display.clear()
        try options.print(end)
        throw CommandFailure(.failed, failure)
    }
}

/// The method and the content of a change.
struct ChangeContentOptions: ParsableArguments {
    @Option(
        "Method: PUT, PATCH (with --patch), DELETE or POST. [default: PUT]", value: "method",
        completion: .list(["PUT", "PATCH", "DELETE", "POST"]))
    var method: OutboxSendCommand.Method?
    @Option("File with the new body; - is standard input.", value: "file", completion: .file())
    var file: String?
    // The values may begin with a dash.
    @Option(name: .long, parsing: .unconditional, help: ArgumentHelp("The new body itself.", valueName: "text"))
    var data: String?
    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Patch of the version that you saw: an object (JSON Merge Patch) or an array (JSON Patch). @FILE reads a "
                + "file, and @- standard input.", valueName: "json"))
    var patch: String?
    @Option(
        "Media type of the body. [default: application/json for JSON, else text/plain or application/octet-stream]",
        value: "type")
    var contentType: String?

    func validate() throws {
        let count = [file, data, patch].count { $0 != nil }
        guard count < 2 else {
            throw ValidationError("--file, --data and --patch exclude each other; give only one of these")
        }
        guard method != .delete || count == 0 else { throw ValidationError("a DELETE has no content") }
        guard method == .delete || count == 1 else {
            throw ValidationError("no content; give --file, --data or --patch, or --method DELETE")
        }
        guard method != .patch || patch != nil else {
            throw ValidationError("--method PATCH needs --patch; a whole body is for PUT or POST")
        }
        guard contentType == nil || patch == nil && method != .delete else {
            throw ValidationError("--content-type needs --file or --data")
        }
    }

    var readsStandardInput: Bool { file == "-" || patch == "@-" }

    /// Returns `nil` for a DELETE.
    func read() throws(CommandFailure) -> ChangeOptions.Content? {
        if let patch {
            let bytes = patch.hasPrefix("@") ? try InputFile(String(patch.dropFirst())).read() : Array(patch.utf8)
            return .patch(try JSON(bytes, of: "--patch"))
        }
        let body = try file.map { (path) throws(CommandFailure) in try InputFile(path).read() }
        guard let body = body ?? data.map({ Array($0.utf8) }) else { return nil }
        return .body(body, type: contentType ?? Self.type(of: body))
    }

    /// The media type of a body; `nil` for text, for which the server has a type.
    static func type(of body: [UInt8]) -> String? {
        if (try? JSON(parsing: body, depthLimit: JSONValidator.depthLimit)) != nil { return "application/json" }
        return String(validating: body, as: UTF8.self) == nil ? "application/octet-stream" : nil
    }
}

extension OutboxChange {
    /// A line about a change under way.
    func progress(width: Int) -> String {
        let title = LogText.words(url).shortened(to: max(12, width / 3))
        var details = [LogText.words(state)]
        if let nextAttemptDate { details.append("next \(LogText.words(Words.instant(nextAttemptDate, now: .now)))") }
        if attempts > 0 { details.append("\(attempts) \(attempts == 1 ? "attempt" : "attempts")") }
        if let problemWords { details.append(LogText.words(problemWords)) }
        return ProgressLine(title: title, details: details).text(width: width)
    }
}
