import HTTPTypes
import RawStructuredFieldValues

/// All lines of a structured field (RFC 8941, RFC 9651) form one value. A malformed value counts as absent.
enum StructuredField {
    /// The most members and parameters of a value; RFC 8941 §3 asks for 1,024 members. A longer value is rejected
    /// before parsing, because the library compares each key with all keys before it.
    static let maximumCount = 1024

    struct Member {
        var key: String
        /// `nil` for an inner list.
        var item: RFC9651BareItem?
    }

    /// Reads a dictionary. The last member of a repeated key wins. `nil` when the field is absent, empty or malformed.
    static func dictionary(_ fields: HTTPFields, name: HTTPField.Name) -> [Member]? {
        guard var parser = parser(fields, name), let map = try? parser.parseDictionaryFieldValue(), !map.isEmpty else {
            return nil
        }
        return map.map { key, value in
            guard case .item(let item) = value else { return Member(key: key, item: nil) }
            return Member(key: key, item: item.rfc9651BareItem)
        }
    }

    /// Reads a list of strings, without parameters. `nil` when the field is absent, empty, malformed or another value.
    static func strings(_ fields: HTTPFields, name: HTTPField.Name) -> [String]? {
        guard var parser = parser(fields, name), let list = try? parser.parseListFieldValue(), !list.isEmpty else {
            return nil
        }
        var strings: [String] = []
        for member in list {
            guard case .item(let item) = member, case .string(let text) = item.rfc9651BareItem else { return nil }
            strings.append(text)
        }
        return strings
    }

    private static func parser(_ fields: HTTPFields, _ name: HTTPField.Name) -> StructuredFieldValueParser<[UInt8]>? {
        // RFC 8941 §4.2: commas join the lines. The field is mostly absent; `contains` costs less than the subscript.
        guard fields.contains(name), let value = fields[name] else { return nil }
        let bytes = Array(value.utf8)
        let separators = bytes.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
        return separators < maximumCount ? StructuredFieldValueParser(bytes) : nil
    }
}
