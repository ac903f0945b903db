import HTTPTypes

/// The members of a field that states a client's preferences, each with its weight: Accept, Accept-Charset,
/// Accept-Encoding, Accept-Language (RFC 9110 §12.4.2, §12.5). The grammar of each field is
/// `#( value *( OWS ";" OWS parameter ) [ OWS ";" OWS "q=" qvalue ] )`.
package struct QualityList: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        /// Without the weight. The values of parameters keep their letter case: `gzip`, `en-gb`, `text/html;level=1`.
        package var value: String
        /// The weight in thousandths, from 0 ("not acceptable") to 1000, the default.
        package var quality: Int

        var text: String {
            if quality == 1000 { return value }
            let digits = String(1000 + quality).dropFirst()
            let fraction = digits.prefix(through: digits.lastIndex { $0 != "0" } ?? digits.startIndex)
            return quality == 0 ? "\(value);q=0" : "\(value);q=0.\(fraction)"
        }
    }

    package private(set) var members: [Member] = []

    /// The lines form one list. `nil` when a member does not follow the grammar.
    package init?(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line)
            guard let list = scanner.list(Self.member) else { return nil }
            members += list
        }
    }

    /// Reads `value *( OWS ";" OWS [ parameter ] )` and the white space behind it.
    private static func member(_ scanner: inout FieldScanner) -> Member? {
        guard var value = scanner.token()?.lowercased() else { return nil }
        if scanner.take("/") {
            guard let subtype = scanner.token() else { return nil }
            value += "/" + subtype.lowercased()
        }
        var quality: Int?
        scanner.skipSpace()
        while scanner.take(";") {
            scanner.skipSpace()
            guard let name = scanner.token()?.lowercased() else { continue }
            guard scanner.take("=") else { return nil }
            if name == "q" {
                guard quality == nil, let weight = scanner.token().flatMap(thousandths) else { return nil }
                quality = weight
            } else {
                guard let argument = scanner.token() ?? scanner.quotedString() else { return nil }
                value += ";\(name)=\(quotedIfNeeded(argument))"
            }
            scanner.skipSpace()
        }
        return Member(value: value, quality: quality ?? 1000)
    }

    /// Reads a weight, `( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )` (RFC 9110 §12.4.2): 500 for `0.5`.
    private static func thousandths(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard (1...5).contains(bytes.count), bytes.count == 1 || bytes[1] == UInt8(ascii: ".") else { return nil }
        var value = 0
        for index in [0, 2, 3, 4] {
            let digit = index < bytes.count ? bytes[index] : UInt8(ascii: "0")
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value <= 1000 ? value : nil
    }

    /// Returns the same text for a token and a quoted string with the same content, which are equal (RFC 9110 §5.6.6).
    private static func quotedIfNeeded(_ argument: String) -> String {
        var scanner = FieldScanner(argument)
        if scanner.token() != nil, scanner.isAtEnd { return argument }
        // Compares Unicode scalars, because a quote followed by a combining accent is a different `Character`.
        let escaped = argument.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }
        return "\"\(escaped.joined())\""
    }
}

extension QualityList {
    /// The normal form of a field: values with the same meaning give the same bytes (RFC 9111 §4.1). The caller must
    /// handle an absent field, because an absent field is not an empty field.
    /// - Accept, Accept-Charset, Accept-Encoding and Accept-Language: members are sorted and deduplicated, in lower
    ///   case, with weights in one notation, because no specification gives their order a meaning (RFC 9110 §12.5.4).
    ///   In Accept-Encoding `x-gzip` and `x-compress` become `gzip` and `compress` (RFC 9110 §8.4.1).
    /// - Cookie: the lines are joined by `; ` and otherwise unchanged.
    /// - Any other field, and a value that does not follow the grammar: the lines are joined into one list, without the
    ///   white space around its commas. Quoted strings stay unchanged.
    package static func normalised(name: HTTPField.Name, lines: [String]) -> String {
        switch name {
        case .cookie: return lines.joined(separator: "; ")
        case .accept, .acceptCharset, .acceptEncoding, .acceptLanguage:
            guard let list = QualityList(lines) else { fallthrough }
            return list.canonical(isEncoding: name == .acceptEncoding)
        default: return lines.flatMap(FieldScanner.listMembers).joined(separator: ", ")
        }
    }

    private func canonical(isEncoding: Bool) -> String {
        let same = members.map { member in
            guard isEncoding else { return member }
            let name = Self.codingAliases[member.value] ?? member.value
            return Member(value: name, quality: member.quality)
        }
        let sorted = Set(same).sorted { ($1.quality, $0.value) < ($0.quality, $1.value) }
        return sorted.map(\.text).joined(separator: ", ")
    }

    private static let codingAliases = ["x-gzip": "gzip", "x-compress": "compress"]
}

extension HTTPField.Name {
    fileprivate static let acceptCharset = Self("Accept-Charset")!
}
