import Foundation
import Larder
import Primitives

/// The parameters of a request's query, by name; a name that is not known, or comes twice (but
/// `tags` and `type`, whose values are lists), is refused.
struct Query {
    private var values: [String: String] = [:]

    /// - Throws: 400 when the query cannot be decoded, or a name comes twice or is not among `known`.
    init(_ raw: String?, known: Set<String>) throws(Problem) {
        for (name, value) in try FormDecoding.pairs(raw ?? "", subject: "query") {
            // Generated clients have variables of their own that are called params.
            let name = name == "urlParams" ? "params" : name
            guard known.contains(name) else {
                let list = known.sorted().joined(separator: ", ")
                throw .invalid(
                    "the query parameter \"\(name)\" is not known here" + (known.isEmpty ? "" : "; there are \(list)"),
                    pointer: "/" + JSON.pointerToken(name))
            }
            if name == "tags" || name == "type", let held = values[name] {
                values[name] = held + "," + value
                continue
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .invalid("the query parameter \"\(name)\" comes twice", pointer: "/" + name)
            }
        }
    }

    subscript(name: String) -> String? { values[name] }

    var isEmpty: Bool { values.isEmpty }

    /// Some text; `nil` when absent.
    func nonEmpty(_ name: String) throws(Problem) -> String? {
        guard let text = values[name] else { return nil }
        guard !text.isEmpty else { throw .invalid("\(name) is empty", pointer: "/" + name) }
        return text
    }

    /// `true` or `false`; `nil` when absent.
    func bool(_ name: String) throws(Problem) -> Bool? {
        switch values[name] {
        case nil: return nil
        case "true": return true
        case "false": return false
        case let other?: throw .invalid("\"\(other)\" is neither true nor false", pointer: "/" + name)
        }
    }

    /// A duration: seconds, or a number with a unit; `nil` when absent.
    func ttl(_ name: String = "ttl") throws(Problem) -> Duration? {
        guard let text = values[name] else { return nil }
        guard let ttl = TTL(text) else { throw .invalidTTL(text, pointer: "/" + name) }
        return ttl.duration
    }

    /// How many elements a listing may have; 100 when absent.
    func limit() throws(Problem) -> Int {
        guard let text = values["limit"] else { return 100 }
        guard let limit = Int(text), (1...1000).contains(limit) else {
            throw .invalid("limit is a number from 1 to 1000", pointer: "/limit")
        }
        return limit
    }

    /// Tags separated by commas; `nil` when absent.
    func tags() throws(Problem) -> Set<String>? {
        guard let text = values["tags"] else { return nil }
        return try Tags.check(try Tags.members(of: text, pointer: "/tags"), pointer: "/tags")
    }

    /// The canonical URL that `url` and `params` name, and the parameters as given; `nil` when `url` is absent.
    func canonicalURL() throws(Problem) -> (url: CanonicalURL, params: JSON?)? {
        guard let text = values["url"] else {
            if values["params"] != nil { throw .invalid("params needs a url beside it", pointer: "/params") }
            return nil
        }
        var params: JSON?
        if let source = values["params"] {
            do {
                params = try JSON(parsing: source)
            } catch {
                throw .invalid("params is not JSON: \(error)", pointer: "/params")
            }
        }
        return (
            try URLDecoding.canonicalURL(
                text, params: params, urlPointer: "/url", paramsPointer: "/params", isInTarget: true), params
        )
    }
}

/// The URL and parameters of a request, from wherever they came.
enum URLDecoding {
    static func canonicalURL(
        _ text: String, params: JSON?, urlPointer: String, paramsPointer: String, isInTarget: Bool = false
    ) throws(Problem) -> CanonicalURL {
        var parameters = URLParameters()
        if let params {
            // Empty arrays add nothing to the URL, whose own limit is the one that usually counts.
            guard params.utf8.count <= 2 * CanonicalURL.maximumLength else {
                throw .invalid("params are longer than \(2 * CanonicalURL.maximumLength) bytes", pointer: paramsPointer)
            }
            do {
                parameters = try URLParameters(params)
            } catch {
                throw .invalid(error.reason, pointer: paramsPointer + error.pointer)
            }
        }
        let url: CanonicalURL
        do {
            url = try CanonicalURL(text, params: parameters)
        } catch {
            throw .invalidURL(error, pointer: urlPointer, isInTarget: isInTarget)
        }
        guard !TokenCredentials.areIn(url.string) else {
            throw .invalid("a token of Larder's is not for an origin", pointer: urlPointer)
        }
        return url
    }
}

extension Problem {
    /// What is wrong with a URL.
    ///
    /// - Parameter isInTarget: whether it stands in the request target, where one that is too long is 414.
    static func invalidURL(_ error: InvalidURL, pointer: String?, isInTarget: Bool) -> Problem {
        if case .tooLong = error, isInTarget {
            return Problem(status: 414, detail: error.description, pointer: pointer)
        }
        return .invalid(error.description, pointer: pointer)
    }

    static func invalidTTL(_ text: String, pointer: String) -> Problem {
        .invalid("\"\(text)\" is not a duration; give \(TTL.expectation)", pointer: pointer)
    }
}

/// What a tag may be: 1 to 128 characters, no control character, and without the comma that separates tags in a query.
enum Tags {
    /// The most tags that one request may carry.
    static let limit = 64

    static func check(_ tags: [String], pointer: String) throws(Problem) -> Set<String> {
        guard tags.count <= limit else { throw .invalid("more than \(limit) tags", pointer: pointer) }
        for tag in tags {
            guard (1...128).contains(tag.unicodeScalars.count),
                !tag.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x2C })
            else {
                throw .invalid("a tag has 1 to 128 characters, no control character and no comma", pointer: pointer)
            }
        }
        return Set(tags.map(spelling))
    }

    /// What stands between commas, without what is empty; that counts among those that there may be.
    ///
    /// By bytes: Swift takes a comma and an accent behind it for one character.
    static func members(of text: String, pointer: String) throws(Problem) -> [String] {
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard members.count <= limit else { throw .invalid("more than \(limit) tags", pointer: pointer) }
        return members.filter { !$0.isEmpty }.map { String(Substring($0)) }
    }

    /// A tag in the one spelling that it is kept in: accents that are composed, so that it is found however a client
    /// spells them.
    static func spelling(_ tag: String) -> String {
        tag.utf8.allSatisfy { $0 < 0x80 } ? tag : tag.precomposedStringWithCanonicalMapping
    }
}
