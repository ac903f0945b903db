import HTTPTypes
import Larder
import Primitives

@testable import LarderAPI

/// The input as a form, a query, a JSON body and a batch.
enum FormProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        try checkPairs(bytes)
        try checkForm(bytes)
        try checkQuery(bytes.text)
        try checkRequest(bytes)
        try checkBatch(bytes)
        _ = try? BodyDecoding.json(bytes, contentType: "application/merge-patch+json; charset=utf-8")
    }

    /// Decoded pairs that are encoded again decode to the same pairs.
    private static func checkPairs(_ bytes: [UInt8]) throws(Violation) {
        guard let text = String(validating: bytes, as: UTF8.self),
            let pairs = try? FormDecoding.pairs(text, subject: "form")
        else { return }
        let written = pairs.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
        let again = try demanded(try? FormDecoding.pairs(written, subject: "form"), "encoded pairs can be read", text)
        try demand(
            again.count == pairs.count
                && zip(again, pairs).allSatisfy { $0.name.isExactly($1.name) && $0.value.isExactly($1.value) },
            "encoded pairs read back unchanged", text)
        let plain = try demanded(
            FormDecoding.decode(encoded(text).utf8, plusIsSpace: false), "an escaped text can be read", text)
        try demand(plain.isExactly(text), "an escaped text reads back unchanged", text)
    }

    /// The URL of a form's request contains each parameter of the form unchanged.
    private static func checkForm(_ bytes: [UInt8]) throws(Violation) {
        let type = "application/x-www-form-urlencoded"
        guard bytes.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) != UInt8(ascii: "{"),
            let json = try? BodyDecoding.downloadRequest(bytes, contentType: type),
            let request = try? DownloadRequest(json), let pairs = try? FormDecoding.pairs(bytes.text, subject: "form")
        else { return }
        let url = try demanded(pairs.first { $0.name == "url" }, "an accepted form has a URL", bytes.text).value
        var params = URLParameters()
        for (name, value) in pairs {
            if let name = name.member(of: "params") { params.append(name, value) }
        }
        let expected = try? CanonicalURL(url, params: params)
        try demand(expected == request.url, "the URL has the form's parameters", request.url.string)
        let headers = pairs.compactMap { $0.name.member(of: "headers") }
        try demand(request.fields.count == headers.count, "the request has the form's header fields", bytes.text)
    }

    private static func checkQuery(_ text: String) throws(Violation) {
        let known: Set<String> = ["url", "params", "ttl", "tags", "stale", "limit", "pinned", "sort"]
        guard let query = try? Query(text, known: known), let pairs = try? FormDecoding.pairs(text, subject: "query")
        else { return }
        for name in known {
            let values = pairs.filter { $0.name == name }.map(\.value)
            let expected = values.isEmpty ? nil : values.joined(separator: ",")
            try demand(
                query[name].map(ExactText.init) == expected.map(ExactText.init), "a query has the value of its pair",
                text
            )
        }
        if let limit = try? query.limit() { try demand((1...1000).contains(limit), "a limit is from 1 to 1000", text) }
        if let ttl = try? query.ttl() {
            try demand(ttl >= .zero && ttl <= .seconds(TTL.maximumSeconds), "a ttl is within its limits", text)
        }
        if let tags = try? query.tags() { try checkTags(tags) }
        if let (url, params) = try? query.canonicalURL() {
            let parameters = params.flatMap { try? URLParameters($0) } ?? URLParameters()
            try demand(
                url == (try? CanonicalURL(query["url"] ?? "", params: parameters)),
                "a query gives the canonical URL of its members", text)
        }
        _ = try? query.bool("stale")
    }

    private static func checkRequest(_ bytes: [UInt8]) throws(Violation) {
        guard let json = try? BodyDecoding.downloadRequest(bytes, contentType: "application/json"),
            let request = try? DownloadRequest(json)
        else { return }
        try demand(
            (try? CanonicalURL(request.url.string)) == request.url, "the URL of a request is canonical",
            request.url.string)
        try checkTags(request.tags)
        for ttl in [request.ttl, request.staleIfError, request.staleWhileRevalidate] {
            try demand(
                ttl ?? .zero >= .zero && ttl ?? .zero <= .seconds(TTL.maximumSeconds), "a ttl is within its limits")
        }
        for field in request.fields {
            let name = field.name.canonicalName
            try demand(
                !["host", "range", "expect", "te"].contains(name) && !name.hasPrefix("larder-"),
                "no connection field is sent to the origin", name)
        }
        try demand(
            (request.key == .url(canonical: request.url.string)) == request.fields.isEmpty,
            "only a request without header fields has the URL's key", request.key.text)
        let again = try? DownloadRequest(try BodyDecoding.downloadRequest(json.utf8, contentType: nil))
        try demand(again?.url == request.url && again?.key == request.key, "a written request reads back unchanged")
    }

    private static func checkBatch(_ bytes: [UInt8]) throws(Violation) {
        guard let elements = try? BodyDecoding.batch(bytes, contentType: "application/x-ndjson") else { return }
        let lines = bytes.lines.filter { line in line.contains { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D } }
        try demand(elements.count == lines.count, "each line is one request", bytes.text)
        for (line, element) in zip(lines, elements) {
            try demand(
                (try? element.json()) == (try? JSON(parsing: Array(line))),
                "a line of a batch reads like a separate JSON text",
                line.text)
        }
    }

    private static func checkTags(_ tags: Set<String>) throws(Violation) {
        try demand(tags.count <= Tags.limit, "the number of tags is within its limit")
        for tag in tags {
            try demand(
                !tag.isEmpty && tag.unicodeScalars.count <= 128 && !tag.utf8.contains { $0 < 0x20 || $0 == 0x2C },
                "a tag is valid", tag)
        }
    }

    /// `text` with every byte escaped except lower-case letters, which have no special meaning.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            (0x61...0x7A).contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
