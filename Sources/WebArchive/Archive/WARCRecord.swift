import Primitives

/// The head of a record of a WARC file (ISO 28500:2017, WARC 1.1).
package struct WARCRecord: Hashable, Sendable {
    /// The values of WARC-Type (WARC 1.1 §5.5).
    package enum Kind: String, Hashable, Sendable {
        case warcinfo, response, request, revisit, resource, metadata, conversion, continuation
    }

    /// `nil`: another type, which readers skip.
    package var kind: Kind?
    /// Names as written, without surrounding white space; values unfolded. A reader finds names in any case.
    package var fields: [(name: String, value: String)]
    /// The bytes of the block behind the head.
    package var length: Int64

    package subscript(name: String) -> String? {
        fields.first { $0.name.utf8.elementsEqual(name.utf8) { $0.lowercased == $1.lowercased } }?.value
    }

    /// A URL without the angle brackets around it, if it has them.
    package static func unbracketed(_ text: String) -> String {
        text.hasPrefix("<") && text.hasSuffix(">") ? String(text.dropFirst().dropLast()) : text
    }

    /// The URL of the captured resource. Wget writes it in angle brackets.
    package var url: String? {
        self["WARC-Target-URI"].map(Self.unbracketed)
    }

    package static func == (left: WARCRecord, right: WARCRecord) -> Bool {
        left.kind == right.kind && left.length == right.length
            && left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(length)
    }
}

/// Writes the parts of WARC records. A record is: head, block, ``end``.
package enum WARCWriter {
    /// The bytes behind each block.
    package static let end = Array("\r\n\r\n".utf8)

    /// Writes the head of a record. `fields` are in the order of the file, without WARC-Type and Content-Length. A
    /// value must have no line end; control characters become spaces.
    package static func head(_ kind: WARCRecord.Kind, _ fields: [(String, String)], length: Int64) -> [UInt8] {
        var head = "WARC/1.1\r\nWARC-Type: \(kind.rawValue)\r\n"
        for (name, value) in fields {
            head +=
                name + ": " + String(String.UnicodeScalarView(value.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
                + "\r\n"
        }
        head += "Content-Length: \(length)\r\n\r\n"
        return Array(head.utf8)
    }

    /// The value of a digest field: an algorithm and a text. SHA-256 is in hexadecimal, because readers take a text in
    /// base32 without padding for a damaged one.
    package static func digest(sha256: [UInt8]) -> String { "sha256:" + sha256.hex }

    /// A record identifier from 16 random bytes.
    package static func identifier(_ bytes: [UInt8]) -> String {
        precondition(bytes.count == 16)
        var bytes = bytes
        // RFC 9562 §5.4: version 4, variant 10.
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let hex = bytes.hex
        var text = ""
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return "<urn:uuid:\(text)>"
    }
}
