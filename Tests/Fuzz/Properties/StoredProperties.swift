import HTTPTypes
import Primitives

@testable import HTTPCaching

/// The text of a stored response, or field lines from which a stored response is made.
enum StoredProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        if let selection = SelectingFields(text: bytes.text) {
            try demand(
                SelectingFields(text: selection.text) == selection, "a selection's text reads back unchanged",
                selection.text)
        }
        if let stored = StoredResponse(text: bytes.text) {
            try checkText(stored)
            if let part = stored.part { try demand(part.lowerBound >= 0, "a part does not begin before 0", "\(part)") }
            return
        }
        let fields = FieldProperties.fields(bytes.lines.prefix(64))
        guard let selection = SelectingFields(vary: fields, request: fields) else { return }
        let number = Int64(bytes.count)
        var stored = StoredResponse(
            url: bytes.lines[0].text, status: 200 + bytes.count % 400, fields: fields,
            requestedAt: Timestamp(milliseconds: -number), receivedAt: Timestamp(milliseconds: number * 1_000_000),
            selection: selection, isInvalid: bytes.count.isMultiple(of: 2))
        try checkText(stored)
        stored.part = number..<number + Int64(bytes.first ?? 0)
        stored.completeLength = .max - number
        stored.isExpirySet = true
        stored.grant = CallerGrant(
            isOnlyReason: bytes.count.isMultiple(of: 3),
            authorization: bytes.count.isMultiple(of: 5) ? nil : bytes.suffix(32).text)
        try checkText(stored)
    }

    /// A written response is read back the same, byte for byte, and its text is as long as the response states.
    static func checkText(_ stored: StoredResponse) throws(Violation) {
        let text = stored.text
        let read = try demanded(StoredResponse(text: text), "a written response can be read", text)
        try demand(read == stored && read.text.isExactly(text), "a written response reads back unchanged", text)
        try demand(
            zip(read.fields, stored.fields).allSatisfy {
                $0.name.rawName == $1.name.rawName && bytes(of: $0) == bytes(of: $1)
            }
                && read.fields.count == stored.fields.count,
            "fields read back byte for byte", text)
        try demand(!text.utf8.contains { $0 < 0x20 }, "the text is one line", text)
        try demand(
            stored.isText(within: text.utf8.count) && !stored.isText(within: text.utf8.count - 1),
            "the size check agrees with the length of the text", text)
        try demand(StoredResponse(text: text + " }") == nil, "a text with more text behind it is refused", text)
    }

    private static func bytes(of field: HTTPField) -> [UInt8] { field.withUnsafeBytesOfValue { Array($0) } }
}
