import Primitives

/// A page as the API shows it: the properties that the commands use, and the whole JSON. Members that the server does
/// not know, or that lists leave out, are `nil`.
package struct HeldPage: Hashable, Sendable {
    /// A resource that a capture lacks.
    package struct Failure: Hashable, Sendable {
        package let url: String
        package let reason: String
    }

    package let key: String
    /// The canonical URL.
    package let url: String
    /// `queued`, `fetching`, `complete`, `partial`, `failed` or `cancelled`.
    package let state: String
    package let json: JSON

    /// The title of the page's document.
    package var title: String? { json["title"]?.stringValue }
    /// The way of the newest stored capture: `static`, `rendered` or `imported`.
    package var mode: String? { json["mode"]?.stringValue }
    /// The bytes of all captures of the page.
    package var bytes: Int64? { json["bytes"]?.countValue }
    /// Whether a limit kept resources out of the capture.
    package var isLimited: Bool { json["limited"]?.boolValue ?? false }
    /// The number of the imported archive's records that are neither resources of the page nor missing ones.
    package var skipped: Int64 {
        let names = ["noResponse", "otherUrl", "repeated", "beyondLimit"]
        return names.reduce(0) { $0 + (json["skipped"]?[$1]?.countValue ?? 0) }
    }
    /// The reason for which no browser showed the page.
    package var browserProblem: String? { json["browserProblem"]?.stringValue }
    /// At most 100 of the resources that the newest stored capture lacks.
    package var failures: [Failure] {
        (json["failures"]?.arrayValue ?? []).compactMap { failure in
            failure["url"]?.stringValue.map { url in
                let status = failure["status"]?.integerValue.map { "status \($0)" }
                return Failure(url: url, reason: failure["reason"]?.stringValue ?? status ?? "missing")
            }
        }
    }

    /// The date from which on the page is stale (RFC 3339).
    package var expiryDate: String? { json["entry"]?["expiryDate"]?.stringValue }
    /// In alphabetical order.
    package var tags: [String] { (json["entry"]?["tags"]?.arrayValue ?? []).compactMap(\.stringValue) }
    /// Whether the server keeps the page past its expiry, and when it needs room.
    package var isPinned: Bool { json["entry"]?["pinned"]?.boolValue ?? false }

    /// The progress or the end of the last capture.
    package var lastCapture: JSON? { json["lastCapture"] }
    /// Whether a capture of the page waits or fetches.
    package var isRunning: Bool { state == "queued" || state == "fetching" }
    /// The state of the last capture, which differs from ``state`` when the page kept an earlier capture.
    package var lastState: String { lastCapture?["state"]?.stringValue ?? state }
    /// The number of URLs that the running capture, else the newest stored capture, has.
    package var captured: Int64? { count("captured") }
    /// The number of URLs that the same capture lacks.
    package var missing: Int64? { count("missing") }

    /// The problem of the last capture if it failed or was cancelled; otherwise `nil`.
    package var failure: ServerProblem? {
        guard lastState == "failed" || lastState == "cancelled" else { return nil }
        let unknown: JSON = ["status": 502, "detail": .string("the capture ended in the state \(lastState)")]
        return lastCapture?["problem"].flatMap { ServerProblem($0) } ?? ServerProblem(unknown)
    }

    /// The reason for which the page kept an earlier capture instead of the last one; otherwise `nil`.
    package var reasonKept: String? {
        failure == nil && !isRunning ? lastCapture?["problem"]?["detail"]?.stringValue : nil
    }

    private func count(_ name: String) -> Int64? {
        (isRunning ? lastCapture?[name]?.countValue : nil) ?? json[name]?.countValue
    }

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no page.
    package init(_ json: JSON) throws {
        guard let key = json["key"]?.stringValue, let url = json["url"]?.stringValue,
            let state = json["state"]?.stringValue
        else { throw ClientError.unexpected("it has no page") }
        self.key = key
        self.url = url
        self.state = state
        self.json = json
    }
}
