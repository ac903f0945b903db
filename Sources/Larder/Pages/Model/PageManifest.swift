import DiskCache
import Primitives

/// The body of a page's entry: the captures that the page keeps.
package struct PageManifest: Hashable, Sendable {
    /// A stored visit of the page.
    package struct Capture: Hashable, Sendable {
        /// The source of the responses.
        package enum Mode: String, Hashable, Sendable {
            case `static`, rendered
            /// The responses come from an archive.
            case imported
        }

        /// See ``PageCapture/number``.
        package var number: Int64
        package var startDate: Timestamp
        package var endDate: Timestamp
        package var mode: Mode
        package var isComplete: Bool
        /// Whether a limit kept further resources out, which the capture does not list.
        package var isLimited: Bool
        /// The URL of the page's document, after redirects.
        package var finalURL: String
        /// `nil` for a document without a title.
        package var title: String?
        /// See ``CaptureProgress``.
        package var captured: Int
        package var missing: Int
        /// The bytes of all bodies.
        package var bytes: Int64
        /// SHA-256 of the resource that has the ``CaptureRecord``s.
        package var records: [UInt8]
        /// The document that the browser had in the end, as HTML. A replay shows it in place of the origin's document.
        /// `nil` for a capture without a browser.
        package var snapshot: Body?
        /// A picture of the page, as JPEG; `nil` without one.
        package var screenshot: Body?
        /// The reason for which a capture that could have used a browser has no snapshot; otherwise `nil`.
        package var browserProblem: String?
        /// The records of the archive that are no resources of the page; `nil` unless ``mode`` is ``Mode/imported``.
        package var skipped: SkippedRecords?
    }

    /// A body that the browser made.
    package struct Body: Hashable, Sendable {
        /// SHA-256.
        package var digest: [UInt8]
        package var length: Int64
    }

    /// Canonical.
    package var url: String
    /// The newest is the last. Never empty in a stored page.
    package var captures: [Capture]
    /// Whether each view renews the page's expiry date.
    package var updatesExpiry: Bool
    package var newest: Capture? { captures.last }

    package init(url: String, captures: [Capture] = [], updatesExpiry: Bool = false) {
        self.url = url
        self.captures = captures
        self.updatesExpiry = updatesExpiry
    }

    var text: [UInt8] {
        JSON.object([
            .init("url", .string(url)), .init("updateExpiry", .bool(updatesExpiry)),
            .init("captures", .array(captures.map(\.json))),
        ]).utf8
    }

    /// `nil` for a text that is no manifest.
    init?(_ text: [UInt8]) {
        guard let json = try? JSON(parsing: text), let url = json["url"]?.stringValue,
            let items = json["captures"]?.arrayValue
        else { return nil }
        let captures = items.compactMap(Capture.init)
        guard captures.count == items.count else { return nil }
        self.init(url: url, captures: captures, updatesExpiry: json["updateExpiry"]?.boolValue ?? false)
    }

    /// Reads the body of a page's entry; may wait for the disk. `nil` for another entry, or if the body cannot be read.
    package init?(of stored: StoredEntry) {
        guard stored.entry.kind == .page, let bytes = try? stored.body.bytes() else { return nil }
        self.init(Array(bytes))
    }
}

extension PageManifest.Capture {
    fileprivate var json: JSON {
        .object([
            .init("number", .number(number)), .init("startDate", .number(startDate.milliseconds)),
            .init("endDate", .number(endDate.milliseconds)), .init("mode", .string(mode.rawValue)),
            .init("isComplete", .bool(isComplete)), .init("isLimited", .bool(isLimited)),
            .init("finalURL", .string(finalURL)), .init("title", .string(orNull: title)),
            .init("captured", .number(captured)), .init("missing", .number(missing)), .init("bytes", .number(bytes)),
            .init("records", .string(records.hex)), .init("snapshot", snapshot?.json ?? .null),
            .init("screenshot", screenshot?.json ?? .null), .init("browserProblem", .string(orNull: browserProblem)),
            .init("skipped", skipped?.json ?? .null),
        ])
    }

    fileprivate init?(_ json: JSON) {
        guard let number = json["number"]?.integerValue, let start = json["startDate"]?.integerValue,
            let end = json["endDate"]?.integerValue, let isComplete = json["isComplete"]?.boolValue,
            let mode = json["mode"]?.stringValue.flatMap(Mode.init),
            let isLimited = json["isLimited"]?.boolValue,
            let finalURL = json["finalURL"]?.stringValue, let captured = json["captured"]?.integerValue,
            let missing = json["missing"]?.integerValue, let bytes = json["bytes"]?.integerValue,
            let records = json["records"]?.stringValue.flatMap({ [UInt8](hex: $0) })
        else { return nil }
        self.init(
            number: number, startDate: Timestamp(milliseconds: start), endDate: Timestamp(milliseconds: end),
            mode: mode, isComplete: isComplete, isLimited: isLimited, finalURL: finalURL,
            title: json["title"]?.stringValue, captured: Int(captured), missing: Int(missing), bytes: bytes,
            records: records, snapshot: json["snapshot"].flatMap(PageManifest.Body.init),
            screenshot: json["screenshot"].flatMap(PageManifest.Body.init),
            browserProblem: json["browserProblem"]?.stringValue,
            skipped: json["skipped"].flatMap(SkippedRecords.init))
    }
}

extension PageManifest.Body {
    fileprivate var json: JSON { ["digest": .string(digest.hex), "length": .number(length)] }

    fileprivate init?(_ json: JSON) {
        guard let digest = json["digest"]?.stringValue.flatMap({ [UInt8](hex: $0) }),
            let length = json["length"]?.integerValue
        else { return nil }
        self.init(digest: digest, length: length)
    }
}
