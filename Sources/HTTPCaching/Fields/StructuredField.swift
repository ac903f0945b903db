import HTTPTypes
import RawStructuredFieldValues

/// Structured fields (RFC 8941, RFC 9651) as caching needs them: all lines of a field are one value, and a value that
/// does not follow the grammar is as good as none.
enum StructuredField {
    /// The most members and parameters of a value that is read. RFC 8941 §3 asks for 1,024 members. More are refused
    /// before they are looked at: the library looks each key up among all before it, which a hostile origin could make
    /// very slow.
    static let maximumCount = 1024

    /// A member of a dictionary, without its parameters.
    struct Member {
        var key: String
        /// `nil` for an inner list.
        var item: RFC9651BareItem?
    }

    /// The members of a dictionary, of a repeated key the last; `nil` when the field is not there, is empty or cannot
    /// be read.
    static func dictionary(_ fields: HTTPFields, name: HTTPField.Name) -> [Member]? {
        guard var parser = parser(fields, name), let map = try? parser.parseDictionaryFieldValue(), !map.isEmpty else {
            return nil
        }
        return map.map { key, value in
            guard case .item(let item) = value else { return Member(key: key, item: nil) }
            return Member(key: key, item: item.rfc9651BareItem)
        }
    }

    /// The strings of a list, without their parameters; `nil` when the field is not there, is empty, cannot be read or
    /// has a member that is no string.
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
        // RFC 8941 §4.2: the lines are joined by commas before they are read.
        // Mostly it is not there, and to ask whether it is costs less than to ask for it.
        guard fields.contains(name), let value = fields[name] else { return nil }
        let bytes = Array(value.utf8)
        let separators = bytes.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
        return separators < maximumCount ? StructuredFieldValueParser(bytes) : nil
    }
}
