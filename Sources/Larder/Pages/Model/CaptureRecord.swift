import HTTPCaching
import HTTPTypes
import Primitives
import WebArchive

/// One request of a capture: its URL, and the origin's answer or the reason why there is none.
struct CaptureRecord: Hashable, Sendable {
    /// The head of a response, and the digest by which the cache finds the body.
    struct Answer: Hashable, Sendable {
        var status: Int
        /// Of the response, without cookies, fields of the connection and the coding, because the body is decoded.
        var fields: HTTPFields
        /// SHA-256 of the body; `nil` for a redirect, because its body is not kept.
        var digest: [UInt8]?
        var length: Int64
    }

    /// Without a fragment.
    var url: String
    var kind: Reference.Kind
    /// The time at which the answer's head, or the failure, came.
    var date: Timestamp
    /// `nil` when the capture lacks the resource.
    var answer: Answer?
    /// The reason why the capture lacks the resource; `nil` with an answer.
    var problem: String?
    /// The ``TextEncoding/name`` of the document that refers to the resource; `nil` for UTF-8. A style sheet without an
    /// encoding of its own has it.
    var encoding: String?

    /// Whether the capture has the resource as the live page does: a page may refer to a resource that does not exist,
    /// but a refusal, such as a 403 or 429, may be meant for the capture only.
    var isWhole: Bool { answer.map { Self.isWhole($0.status) } ?? false }
    static func isWhole(_ status: Int) -> Bool { status < 400 || status == 404 || status == 410 }

    /// The fields of a response that a capture keeps. Cookies are forgotten with the capture.
    static func kept(_ fields: HTTPFields) -> HTTPFields {
        var room = fieldLimit
        return fields.endToEnd().filter { field in
            guard !dropped.contains(field.name) else { return false }
            room -= field.name.rawName.utf8.count + field.value.utf8.count
            return room >= 0
        }
    }

    /// The most bytes of an answer's fields. The fields behind them are dropped.
    private static let fieldLimit = 16 << 10

    private static let dropped: Set<HTTPField.Name> = [
        .setCookie, HTTPField.Name("Set-Cookie2")!, .contentEncoding, .contentLength, .wwwAuthenticate,
        HTTPField.Name("Authentication-Info")!,
    ]

    // MARK: - Coding

    /// The records of a capture as lines of JSON.
    static func text(of records: [CaptureRecord]) -> [UInt8] {
        var text: [UInt8] = []
        for record in records {
            record.json.write(into: &text)
            text.append(.lineFeed)
        }
        return text
    }

    /// Reads ``text(of:)``. `nil` when a line is no record.
    static func records(in text: [UInt8]) -> [CaptureRecord]? {
        var records: [CaptureRecord] = []
        for line in text.split(separator: .lineFeed) {
            guard let json = try? JSON(parsing: Array(line)), let record = CaptureRecord(json) else { return nil }
            records.append(record)
        }
        return records
    }

    /// The members that a list of a page's resources shows; `reason` only for a resource that is not whole.
    var summary: JSON {
        var members: [JSON.Member] = [
            .init("url", .string(url)), .init("kind", .string(kind.rawValue)), .init("date", .date(date)),
            .init("status", answer.map { .number($0.status) } ?? .null),
            .init("contentType", .string(orNull: answer?.fields[.contentType])),
            .init("contentLength", answer.map { .number($0.length) } ?? .null),
        ]
        if let reason { members.append(.init("reason", .string(reason))) }
        return .object(members)
    }

    /// The reason why the capture is not whole; `nil` for a whole resource.
    var reason: String? {
        if isWhole { return nil }
        return problem ?? "the origin answered with status \(answer?.status ?? 0)"
    }

    private var json: JSON {
        var members: [JSON.Member] = [
            .init("url", .string(url)), .init("kind", .string(kind.rawValue)),
            .init("date", .number(date.milliseconds)),
        ]
        if let answer {
            members += [
                .init("status", .number(answer.status)), .init("length", .number(answer.length)),
                .init(
                    "fields",
                    .array(answer.fields.map { .array([.string($0.name.rawName), .string($0.latin1)]) })),
            ]
            if let digest = answer.digest {
                members.append(.init("digest", .string(digest.withUnsafeBytes(\.lowercaseHex))))
            }
        }
        if let problem { members.append(.init("problem", .string(problem))) }
        if let encoding { members.append(.init("encoding", .string(encoding))) }
        return .object(members)
    }

    private init?(_ json: JSON) {
        guard let url = json["url"]?.stringValue, let date = json["date"]?.integerValue,
            let kind = json["kind"]?.stringValue.flatMap(Reference.Kind.init)
        else { return nil }
        self.init(url: url, kind: kind, date: Timestamp(milliseconds: date))
        problem = json["problem"]?.stringValue
        encoding = json["encoding"]?.stringValue
        guard let status = json["status"]?.integerValue, let length = json["length"]?.integerValue else { return }
        var fields = HTTPFields()
        for pair in json["fields"]?.arrayValue ?? [] {
            guard let pair = pair.arrayValue, pair.count == 2,
                let name = pair[0].stringValue.flatMap({ HTTPField.Name($0) }),
                let field = pair[1].stringValue.flatMap({ HTTPField(name: name, latin1: $0) })
            else { return nil }
            fields.append(field)
        }
        let digest = json["digest"]?.stringValue.flatMap { [UInt8](hex: $0) }
        answer = Answer(status: Int(status), fields: fields, digest: digest, length: length)
    }

    init(
        url: String, kind: Reference.Kind, date: Timestamp, answer: Answer? = nil, problem: String? = nil
    ) {
        self.url = url
        self.kind = kind
        self.date = date
        self.answer = answer
        self.problem = problem
    }
}

extension PageManifest.Capture {
    /// The record of the page's document as the browser had it in the end; `nil` for another URL, and for a capture
    /// without a snapshot.
    func snapshotRecord(of url: WebURL) -> CaptureRecord? {
        guard let snapshot, url.text == finalURL else { return nil }
        let answer = CaptureRecord.Answer(
            status: 200, fields: [.contentType: "text/html; charset=utf-8"], digest: snapshot.digest,
            length: snapshot.length)
        return CaptureRecord(url: finalURL, kind: .frame, date: endDate, answer: answer)
    }
}
