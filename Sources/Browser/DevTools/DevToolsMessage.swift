import Primitives

/// A message from the browser, by the Chrome DevTools Protocol.
enum DevToolsMessage: Sendable {
    /// The result of a command, or the browser's words for its refusal.
    case reply(number: Int64, Result<JSON, Refusal>)
    case event(DevToolsEvent)

    struct Refusal: Error, Hashable, Sendable {
        var reason: String
    }

    /// `nil` for a text that is no message of the protocol. Lone surrogates in strings are replaced, because a page can
    /// put them into its URL or its text.
    init?(_ text: UnsafeRawBufferPointer) {
        guard let json = try? JSON(parsing: text, depthLimit: 256, replacesLoneSurrogates: true) else { return nil }
        if let number = json["id"]?.integerValue {
            let reason = json["error"].map { $0["message"]?.stringValue ?? "no reason" }
            self = .reply(
                number: number, reason.map { .failure(Refusal(reason: $0)) } ?? .success(json["result"] ?? [:]))
        } else if let method = json["method"]?.stringValue {
            self = .event(
                DevToolsEvent(
                    method: method, parameters: json["params"] ?? [:], session: json["sessionId"]?.stringValue))
        } else {
            return nil
        }
    }
}

/// An event of the browser, or of one of its targets.
struct DevToolsEvent: Sendable {
    var method: String
    var parameters: JSON
    /// The session with a target; `nil` for an event of the browser itself.
    var session: String?
}

/// A command for the browser, or for one of its targets.
struct DevToolsCommand: Sendable {
    var method: String
    var parameters: JSON = [:]
    /// The session with a target; `nil` for the browser itself.
    var session: String?

    func text(number: Int64) -> [UInt8] {
        var members: [JSON.Member] = [
            .init("id", .number(number)), .init("method", .string(method)), .init("params", parameters),
        ]
        if let session { members.append(.init("sessionId", .string(session))) }
        return JSON.object(members).utf8
    }
}
