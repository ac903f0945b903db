import Foundation
import Larder
import Primitives

/// Refuses unknown names, and repeated names except the lists `tags` and `type`. Readers return `nil` for absent names.
struct Query {
    private var values: [String: String] = [:]

    init(_ raw: String?, known: Set<String>) throws(Problem) {
        for (name, value) in try FormDecoding.pairs(raw ?? "", subject: "query") {
            // The code of generated clients uses the name `params` itself, so they send the parameter as `urlParams`.
            let name = name == "urlParams" ? "params" : name
            guard known.contains(name) else {
                let list = known.sorted().joined(separator: ", ")
                throw .invalid(
                    "unknown query parameter \"\(name)\"; "
                        + (known.isEmpty ? "this path has none" : "the parameters are \(list)"),
                    pointer: "/" + JSON.pointerToken(name))
            }
            if name == "tags" || name == "type", let held = values[name] {
                values[name] = held + "," + value
                continue
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .invalid("the query parameter \"\(name)\" is given twice; give it once", pointer: "/" + name)
            }
        }
    }

    subscript(name: String) -> String? { values[name] }

    func nonEmpty(_ name: String) throws(Problem) -> String? {
        guard let text = values[name] else { return nil }
        guard !text.isEmpty else { throw .invalid("\(name) is empty", pointer: "/" + name) }
        return text
    }

    /// Throws 400 with the expectation if `read` returns `nil`.
    func value<Value>(
        _ name: String, _ expectation: String, _ read: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = values[name] else { return nil }
        guard let value = read(text) else { throw .invalid("\(name) must be \(expectation)", pointer: "/" + name) }
        return value
    }

    func bool(_ name: String) throws(Problem) -> Bool? {
        try value(name, "true or false, not \"\(values[name] ?? "")\"") { Bool($0) }
    }

    func ttl() throws(Problem) -> Duration? {
        guard let text = values["ttl"] else { return nil }
        guard let ttl = TTL(text) else { throw .invalidTTL(text, pointer: "/ttl") }
        return ttl.duration
    }

    /// The most elements of a listing; 100 if the parameter is absent.
    func limit() throws(Problem) -> Int {
        try value("limit", "a number from 1 to 1000") { Int($0).flatMap { (1...1000).contains($0) ? $0 : nil } } ?? 100
    }

    /// The most captures that a page keeps.
    func captures() throws(Problem) -> Int? {
        let range = 1...PageRequest.captureLimit
        return try value("captures", "a number from 1 to \(PageRequest.captureLimit)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// The number of a page's capture.
    func capture() throws(Problem) -> Int64? {
        try value("capture", "the number of a capture, as in the captures of the page") {
            Int64($0).flatMap { $0 >= 0 ? $0 : nil }
        }
    }

    func tags() throws(Problem) -> Set<String>? {
        guard let text = values["tags"] else { return nil }
        return try Tags.check(try Tags.members(of: text, pointer: "/tags"), pointer: "/tags")
    }

    func canonicalURL() throws(Problem) -> (url: CanonicalURL, params: JSON?)? {
        guard let text = values["url"] else {
            if values["params"] != nil {
                throw .invalid("params needs url; add url, or leave params out", pointer: "/params")
            }
            return nil
        }
        let params = try values["params"].map { (source) throws(Problem) in
            try Problem.mapping(try JSON(parsing: source)) { (error: JSON.SyntaxError) in
                .invalid("params is not JSON: \(error)", pointer: "/params")
            }
        }
        return (try URLDecoding.canonicalURL(text, params: params, isInTarget: true), params)
    }
}

enum URLDecoding {
    static func canonicalURL(_ text: String, params: JSON?, isInTarget: Bool = false) throws(Problem) -> CanonicalURL {
        var parameters = URLParameters()
        if let params {
            // The limit is twice the limit of a URL, because parts such as empty arrays add nothing to the URL.
            guard params.utf8.count <= 2 * CanonicalURL.maximumLength else {
                throw .invalid("params are longer than \(2 * CanonicalURL.maximumLength) bytes", pointer: "/params")
            }
            parameters = try Problem.mapping(try URLParameters(params)) { (error: ParameterError) in
                .invalid(error.reason, pointer: "/params" + error.pointer)
            }
        }
        let url = try Problem.mapping(try CanonicalURL(text, params: parameters)) { (error: InvalidURL) in
            .invalidURL(error, pointer: "/url", isInTarget: isInTarget)
        }
        guard !TokenCredentials.areIn(url.string) else {
            throw .invalid("a Larder token must not reach an origin; remove it", pointer: "/url")
        }
        return url
    }
}

extension Problem {
    /// A URL that is too long gets a 414 if it is part of the request target.
    static func invalidURL(_ error: InvalidURL, pointer: String?, isInTarget: Bool) -> Problem {
        if case .tooLong = error, isInTarget {
            return Problem(414, error.description, pointer: pointer)
        }
        return .invalid(error.description, pointer: pointer)
    }

    static func invalidTTL(_ text: String, pointer: String) -> Problem {
        .invalid("\"\(text)\" is not a duration; expected \(TTL.expectation)", pointer: pointer)
    }
}

/// A tag has 1 to 128 characters, no control characters, and no comma, because commas separate tags in a query.
enum Tags {
    static let limit = 64

    static func check(_ tags: [String], pointer: String) throws(Problem) -> Set<String> {
        guard tags.count <= limit else { throw .invalid("too many tags; the limit is \(limit)", pointer: pointer) }
        for tag in tags {
            guard (1...128).contains(tag.unicodeScalars.count),
                !tag.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x2C })
            else {
                throw .invalid(
                    "a tag must have 1 to 128 characters, without control characters and commas", pointer: pointer)
            }
        }
        return Set(tags.map(spelling))
    }

    /// Splits text at its commas and drops empty members, which count towards the limit. The code compares bytes,
    /// because Swift treats a comma and a following accent as one character.
    static func members(of text: String, pointer: String) throws(Problem) -> [String] {
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard members.count <= limit else { throw .invalid("too many tags; the limit is \(limit)", pointer: pointer) }
        return members.filter { !$0.isEmpty }.map { String(Substring($0)) }
    }

    /// The stored spelling, with composed accents, so that every spelling of a client finds the tag.
    static func spelling(_ tag: String) -> String {
        tag.utf8.allSatisfy { $0 < 0x80 } ? tag : tag.precomposedStringWithCanonicalMapping
    }
}

/// Decodes application/x-www-form-urlencoded (WHATWG URL §5.1); a broken escape or invalid UTF-8 is an error.
enum FormDecoding {
    /// The subject is the source of the text, such as "query", for the error message.
    static func pairs(_ text: some StringProtocol, subject: String) throws(Problem) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = equals < part.endIndex ? part[part.index(after: equals)...] : part[part.endIndex...]
            guard let name = decode(part[..<equals], plusIsSpace: true), let value = decode(value, plusIsSpace: true)
            else {
                throw .invalid("the \(subject) has a broken percent-escape or is not UTF-8")
            }
            pairs.append((name, value))
        }
        return pairs
    }

    /// `nil` if an escape is broken or the result is not UTF-8.
    static func decode(_ bytes: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        let (plus, space) = (UInt8(ascii: "+"), UInt8(ascii: " "))
        return PercentEscape.decode(bytes.lazy.map { plusIsSpace && $0 == plus ? space : $0 })
            .flatMap { String(validating: $0, as: UTF8.self) }
    }
}
