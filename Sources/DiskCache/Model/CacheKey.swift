import Crypto
import Primitives

/// The name of an entry in the API, in one of three forms. No text has two forms because ``data(_:)`` refuses text of
/// the other forms:
///
/// | form | text |
/// |---|---|
/// | ``Form/url`` | MD5 of the canonical URL and of any request fields, 32 lower-case hexadecimal digits |
/// | ``Form/response`` | MD5 of the URL as sent, `.`, 8 lower-case hexadecimal digits of the variant |
/// | ``Form/data`` | the caller's own text |
///
/// Two keys are equal when their bytes are equal; `String`'s canonical equivalence does not count.
package struct CacheKey: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        case url
        case response
        case data
    }

    /// The most bytes of a caller's key.
    package static let maximumLength = 255
    package let text: String
    package let form: Form

    /// The key of a download from, or of JSON stored under, a canonical URL: `printf %s "$URL" | md5sum`.
    package static func url(canonical url: String) -> CacheKey {
        CacheKey(text: MD5Name.of(url), form: .url)
    }

    /// The key of a download with request fields: the MD5 of the URL and of a line `name: value` for each field,
    /// separated by LF, which no valid value contains (RFC 9110 §5.5). Names are in lower case, values have no white
    /// space around them, lines are sorted by their bytes. Without fields the key equals ``url(canonical:)``.
    package static func url(canonical url: String, requestFields: [(name: String, value: String)]) -> CacheKey {
        let lines = requestFields.map { field in "\(field.name.lowercased()): \(field.value.trimmingSpace())" }
        let sorted = lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return CacheKey(text: MD5Name.of(([url] + sorted).joined(separator: "\n")), form: .url)
    }

    /// `variant` tells the URL's variants apart; its MD5 gives the last digits. Most URLs have only the empty variant.
    package static func response(to url: ResponseURL, variant: String) -> CacheKey {
        let name = variant.isEmpty ? onlyVariant : variantName(variant)
        return CacheKey(text: url.md5 + "." + name, form: .response)
    }

    private static let onlyVariant = variantName("")
    private static func variantName(_ variant: String) -> Substring {
        Substring(MD5Name.of(variant).utf8.prefix(variantLength))
    }

    package static func data(_ text: String) throws(InvalidKey) -> CacheKey {
        guard form(of: text.utf8) == .data else { throw .reservedForm }
        guard !text.utf8.isEmpty else { throw .empty }
        guard text.utf8.count <= maximumLength else { throw .tooLong(limit: maximumLength) }
        guard !text.utf8.contains(UInt8(ascii: "/")) else { throw .slash }
        guard text != ".", text != ".." else { throw .dots }
        // The control characters (Cc) of every Unicode version are these two ranges.
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw .controlCharacter
        }
        return CacheKey(text: text, form: .data)
    }

    /// A key that a client wrote, in any form; `nil` when `text` is not a valid key and so names no entry.
    package init?(_ text: String) {
        let form = Self.form(of: text.utf8)
        if form == .data, (try? Self.data(text)) == nil { return nil }
        self.init(text: text, form: form)
    }

    private init(text: String, form: Form) {
        self.text = text
        self.form = form
    }

    /// The MD5 with which a key of the form `url` or `response` begins, or the MD5 of a caller's own key.
    package var md5Hex: String {
        switch form {
        case .url: text
        case .response: String(Substring(text.utf8.prefix(MD5Name.length)))
        case .data: MD5Name.of(text)
        }
    }

    /// The name of the body's file in the hashed layout. Two keys share a name only if one is a caller's own key.
    package var hashedName: String { form == .data ? md5Hex : text }

    package static func == (left: CacheKey, right: CacheKey) -> Bool { ExactText(left.text) == ExactText(right.text) }
    package func hash(into hasher: inout Hasher) { ExactText(text).hash(into: &hasher) }

    private static let variantLength = 8

    private static func form(of bytes: String.UTF8View) -> Form {
        switch bytes.count {
        case MD5Name.length where MD5Name.isName(bytes): .url
        case MD5Name.length + 1 + variantLength
        where MD5Name.isName(bytes.prefix(MD5Name.length)) && bytes.suffix(variantLength).allSatisfy(MD5Name.isDigit)
            && bytes.dropFirst(MD5Name.length).first == UInt8(ascii: "."):
            .response
        default: .data
        }
    }
}

extension CacheKey: CustomStringConvertible {
    package var description: String { text }
}

package enum InvalidKey: Error, Hashable, Sendable {
    case empty
    case tooLong(limit: Int)
    case slash
    /// Unicode category Cc, such as NUL.
    case controlCharacter
    case dots
    case reservedForm
}

extension InvalidKey: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "the key is empty; it must have 1 to \(CacheKey.maximumLength) bytes"
        case .tooLong(let limit): "the key is longer than \(limit) bytes of UTF-8"
        case .slash: "the key contains a /"
        case .controlCharacter: "the key contains a control character"
        case .dots: "the key is . or .., which are not valid file names"
        case .reservedForm:
            "the key has the form of a URL's key: 32 lower-case hexadecimal digits, alone or with a dot and 8 more"
        }
    }
}

/// MD5 as a source of names (`printf %s "$URL" | md5sum`), never as a proof: code also compares the full text.
enum MD5Name {
    static let length = 32

    /// Returns 32 lower-case hexadecimal digits.
    static func of(_ text: String) -> String {
        var text = text
        var hash = Insecure.MD5()
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes(\.lowercaseHex)
    }

    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == length && bytes.allSatisfy(isDigit)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
