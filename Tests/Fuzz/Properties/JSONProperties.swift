import Primitives

/// A JSON text, or an invalid text.
enum JSONProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        let parsed = Result { () throws(JSON.SyntaxError) in
            try JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit)
        }
        let isValid = try checkValidator(bytes)
        switch parsed {
        case .success(let json):
            try demand(isValid.finished, "a text that can be parsed is valid", bytes.text)
            try demand(isValid.empty == isEmpty(json), "the validator recognises an empty value", bytes.text)
            try checkWriting(json)
        case .failure(let error):
            try demand(
                (0...bytes.count).contains(error.offset), "the offset of an error lies within the text", "\(error)")
            // The parser refuses duplicate names and lone surrogates, which RFC 8259 allows.
            let isStricter = ["is given twice", "surrogate"].contains { error.reason.contains($0) }
            try demand(!isValid.finished || isStricter, "a valid text can be parsed", "\(error): \(bytes.text)")
        }
        if let shallow = try? JSON(parsing: bytes) {
            try demand((try? parsed.get()) == shallow, "the depth limit does not change the parsed value", bytes.text)
        }
        checkLimits(bytes)
    }

    /// A value that is written and parsed again is the same, byte for byte.
    private static func checkWriting(_ json: JSON) throws(Violation) {
        let text = json.utf8
        let again = try demanded(
            try? JSON(parsing: text, depthLimit: JSONValidator.depthLimit), "a written value can be parsed", text.text)
        try demand(again == json && again.utf8 == text, "a written value parses to the same value", text.text)
        if case .object(let members) = json {
            for member in members {
                try demand(json[member.name] != nil, "a member is found by its name", member.name)
                let token = JSON.pointerToken(member.name)
                try demand(!token.utf8.contains(UInt8(ascii: "/")), "a name is one token of a pointer", token)
                try demand(name(of: token).isExactly(member.name), "a pointer token decodes to the name", token)
            }
            var writer = JSONObjectWriter()
            for member in members { writer.add(member.name, member.value) }
            try demand(Array(writer.text.utf8) == text, "both writers write the same", writer.text)
        }
    }

    /// The member name that a JSON Pointer token stands for (RFC 6901 §4).
    private static func name(of token: String) -> String {
        var output: [UInt8] = []
        var rest = Array(token.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                output.append(byte)
                continue
            }
            output.append(rest.popFirst() == UInt8(ascii: "1") ? UInt8(ascii: "/") : UInt8(ascii: "~"))
        }
        return output.text
    }

    /// The validator gives the same result for the whole text and for its two halves.
    private static func checkValidator(_ bytes: [UInt8]) throws(Violation) -> (finished: Bool, empty: Bool) {
        var whole = JSONValidator()
        bytes.withUnsafeBytes { whole.feed($0) }
        let cut = bytes.count / 2
        var pieces = JSONValidator()
        bytes[..<cut].withUnsafeBytes { pieces.feed($0) }
        let hadFailed = pieces.isFailed
        bytes[cut...].withUnsafeBytes { pieces.feed($0) }
        try demand(pieces.finish() == whole.finish(), "input in pieces gives the same result", bytes.text)
        try demand(!hadFailed || whole.isFailed, "a failed validator stays failed", bytes.text)
        try demand(!whole.isFailed || !whole.finish(), "a failed text is not valid", bytes.text)
        return (whole.finish(), whole.isEmpty)
    }

    private static func isEmpty(_ json: JSON) -> Bool {
        switch json {
        case .null: true
        case .object(let members): members.isEmpty
        default: false
        }
    }

    /// Parses with very small limits, which must not crash.
    private static func checkLimits(_ bytes: [UInt8]) {
        _ = try? JSON(parsing: bytes, depthLimit: 0)
        _ = try? JSON(parsing: bytes, depthLimit: 1, valueLimit: 3)
    }
}
