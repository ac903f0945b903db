import Glibc

/// A character encoding of the web (WHATWG Encoding §4.2), named by the name that iconv knows.
package struct TextEncoding: Hashable, Sendable {
    /// The name for iconv.
    package let name: String
    package static let utf8 = TextEncoding(known: "UTF-8")
    /// The encoding of a document that names none, and has bytes that are no UTF-8.
    package static let windows1252 = TextEncoding(known: "CP1252")

    private init(known name: String) { self.name = name }

    /// The encoding with a ``name``; `nil` for another text.
    package init?(name: String) {
        guard Self.names.values.contains(name) else { return nil }
        self.init(known: name)
    }

    package var isUTF16: Bool { name.hasPrefix("UTF-16") }

    /// The encoding with a label such as `Shift_JIS` or `latin1`, in any case; `nil` for an unknown label.
    package init?(label: String) {
        let words = label.lowercased().split { $0.isWhitespace }
        guard words.count == 1, let name = Self.names[String(words[0])] else { return nil }
        self.name = name
    }

    /// The encoding with a label that browsers know, or that only iconv knows, such as `cp037` and `utf-32`. `nil` for
    /// any other label.
    package init?(anyLabel label: String) {
        if let encoding = TextEncoding(label: label) ?? TextEncoding(label: label.replacing("_", with: "-")) {
            self = encoding
            return
        }
        let name = label.uppercased()
        // Other characters would let a label choose the options of iconv, such as //TRANSLIT.
        guard (1...40).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isAlphanumeric || "-_.:".utf8.contains($0) }),
            let converter = iconv_open("UTF-8", name), converter != iconv_t(bitPattern: -1)
        else { return nil }
        iconv_close(converter)
        self.init(known: name)
    }

    /// The labels of each encoding. Most labels of the standard are rare; these are those of the web's documents.
    private static let names: [String: String] = {
        let rows: [(String, String)] = [
            ("UTF-8", "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8"),
            ("UTF-16LE", "utf-16 utf-16le unicode ucs-2 iso-10646-ucs-2 csunicode"),
            ("UTF-16BE", "utf-16be unicodefffe"),
            (
                "CP1252",
                "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso_8859-1 latin1 l1 ascii us-ascii cp819 ibm819"
            ),
            ("CP1250", "windows-1250 cp1250 x-cp1250"), ("CP1251", "windows-1251 cp1251 x-cp1251"),
            ("CP1253", "windows-1253 cp1253"), ("CP1254", "windows-1254 cp1254 iso-8859-9 iso8859-9 latin5 l5"),
            ("CP1255", "windows-1255 cp1255"), ("CP1256", "windows-1256 cp1256"), ("CP1257", "windows-1257 cp1257"),
            ("CP1258", "windows-1258 cp1258"), ("CP874", "windows-874 tis-620 iso-8859-11 dos-874"),
            ("ISO-8859-2", "iso-8859-2 iso8859-2 latin2 l2"), ("ISO-8859-3", "iso-8859-3 latin3"),
            ("ISO-8859-4", "iso-8859-4 latin4"), ("ISO-8859-5", "iso-8859-5 cyrillic"),
            ("ISO-8859-6", "iso-8859-6 arabic"), ("ISO-8859-7", "iso-8859-7 greek"),
            ("ISO-8859-8", "iso-8859-8 iso-8859-8-i hebrew visual logical"), ("ISO-8859-10", "iso-8859-10 latin6"),
            ("ISO-8859-13", "iso-8859-13"), ("ISO-8859-14", "iso-8859-14"), ("ISO-8859-15", "iso-8859-15 latin9 l9"),
            ("ISO-8859-16", "iso-8859-16"), ("KOI8-R", "koi8-r koi8 koi"), ("KOI8-U", "koi8-u koi8-ru"),
            ("CP866", "ibm866 cp866 866"), ("MACINTOSH", "macintosh mac x-mac-roman"),
            ("MAC-CYRILLIC", "x-mac-cyrillic x-mac-ukrainian"),
            ("GB18030", "gb18030 gbk gb2312 gb_2312-80 chinese x-gbk"),
            ("BIG5-HKSCS", "big5 big5-hkscs x-x-big5 cn-big5"),
            ("CP932", "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j ms932"),
            ("EUC-JP-MS", "euc-jp x-euc-jp"), ("ISO-2022-JP", "iso-2022-jp"),
            ("CP949", "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 korean windows-949 iso-ir-149"),
        ]
        var names: [String: String] = [:]
        for (name, labels) in rows { for label in labels.split(separator: " ") { names[String(label)] = name } }
        return names
    }()

    /// Returns the text in UTF-8. Bytes that are no text of this encoding become U+FFFD.
    package func decode(_ bytes: [UInt8]) -> [UInt8] {
        if self == .utf8 { return bytes.isUTF8 ? bytes : Array(String(decoding: bytes, as: UTF8.self).utf8) }
        let isWindows = name.hasPrefix("CP125")
        return Self.convert(bytes, from: name, to: "UTF-8") { rest in
            // The web's Windows encodings have control characters at the codes that have no character.
            if isWindows, let scalar = Unicode.Scalar(UInt32(rest[rest.startIndex])) {
                return (Array(String(scalar).utf8), 1)
            }
            return (Array("\u{fffd}".utf8), isUTF16 ? 2 : 1)
        } ?? bytes
    }

    /// Returns the text in UTF-8; `nil` if some bytes are no text of this encoding.
    package func decodeExactly(_ bytes: [UInt8]) -> [UInt8]? {
        if self == .utf8 { return bytes.isUTF8 ? bytes : nil }
        var isExact = true
        let text = Self.convert(bytes, from: name, to: "UTF-8") { rest in
            isExact = false
            return ([], rest.count)
        }
        return isExact ? text : nil
    }

    /// Returns the bytes of a query in this encoding. A character without a code becomes an escaped decimal character
    /// reference, as in browsers (WHATWG URL §1.3, percent-encode after encoding). UTF-16 documents have queries in
    /// UTF-8.
    package func encodingQuery(_ query: ArraySlice<UInt8>) -> [UInt8] {
        guard self != .utf8, !isUTF16, query.contains(where: { $0 >= 0x80 }) else { return Array(query) }
        return Self.convert(Array(query), from: "UTF-8", to: name) { rest in
            let scalar = String(decoding: rest.prefix(4), as: UTF8.self).unicodeScalars.first!
            return (Array("%26%23\(scalar.value)%3B".utf8), max(1, String(scalar).utf8.count))
        } ?? Array(query)
    }

    /// `nil` if iconv lacks an encoding. `replacement` gets the bytes from the first one on that has no meaning or no
    /// code, and returns the text in their place and how many bytes the text replaces.
    private static func convert(
        _ bytes: [UInt8], from source: String, to destination: String,
        replacement: (ArraySlice<UInt8>) -> (text: [UInt8], count: Int)
    ) -> [UInt8]? {
        guard let converter = iconv_open(destination, source), converter != iconv_t(bitPattern: -1) else { return nil }
        defer { iconv_close(converter) }
        // Invalid bytes do not end a mode of ISO-2022-JP. In other encodings, only the reset writes a kept character.
        let resetsAtReplacement = source != "ISO-2022-JP"
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count * 3 / 2)
        var block = [CChar](repeating: 0, count: 16 << 10)
        var input = bytes.map(CChar.init(bitPattern:))
        input.withUnsafeMutableBufferPointer { input in
            var next = input.baseAddress
            var left = input.count
            // Without input, iconv returns to the initial state of an encoding such as ISO-2022-JP.
            func run(_ hasInput: Bool) -> Bool {
                let (result, written) = block.withUnsafeMutableBufferPointer { block in
                    var end = block.baseAddress
                    var room = block.count
                    let result =
                        hasInput ? iconv(converter, &next, &left, &end, &room) : iconv(converter, nil, nil, &end, &room)
                    return (result, block.count - room)
                }
                let isWhole = result != -1 || errno == E2BIG
                output.append(contentsOf: block[..<written].lazy.map(UInt8.init(bitPattern:)))
                return isWhole
            }
            while left > 0 {
                if run(true) { continue }
                if resetsAtReplacement { _ = run(false) }
                let (text, count) = replacement(bytes[(bytes.count - left)...])
                output += text
                let skipped = min(max(count, 1), left)
                next! += skipped
                left -= skipped
            }
            _ = run(false)
        }
        return output
    }
}

extension [UInt8] {
    /// Whether the bytes are valid UTF-8.
    package var isUTF8: Bool {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: span)
            return true
        } catch {
            return false
        }
    }
}
