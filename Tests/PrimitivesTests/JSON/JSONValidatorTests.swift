import Foundation
import Primitives
import Testing

@Suite("The JSON validator")
struct JSONValidatorTests {
    private func isValid(_ pieces: [ArraySlice<UInt8>]) -> Bool {
        var validator = JSONValidator()
        for piece in pieces { piece.withUnsafeBytes { validator.feed($0) } }
        return validator.finish()
    }

    private func isValid(_ bytes: [UInt8]) -> Bool { isValid([bytes[...]]) }

    private static let samples: [String] = [
        "null", " true ", "false", "0", "-0", "-1.5e+10", "12E3", "0.0", "[]", "{}", "[ ]", "{ }", "[1,2,[3]]",
        "[[],{}]",
        #"{"a":1,"b":[true,null],"c":{"d":"e"}}"#, #""a\"\\\/\b\f\n\r\t\u00e9""#, #""é日😀""#, "\r\n\t 1 \r\n\t",
        #"["",""]"#,
        "", " ", "nul", "nulx", "tru e", "01", "-", "-a", "1.", "1.a", "1e", "1e+", ".5", "+1", "NaN", "[", "]", "[1",
        "[1,", "[1,]",
        "[,]", "[1 2]", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{1:2}", "[1}",
        "{\"a\":1]",
        "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u00g0\"", "\"\\u00", "\"\n\"", "1 2", "{}{}", "null null", "\"a\"b", "[]]",
        "1,",
        "\u{FEFF}1", "{\"a\" \"b\"}", "{\"a\",1}", "[\"a\":1]", "--1", "1-", "1e5.5", "00", "{\"a\":01}", "[-]",
    ]

    private static let invalidUTF8: [[UInt8]] = [
        [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE0, 0x80, 0x80, 0x22], [0x22, 0xF0, 0x80, 0x80, 0x80, 0x22],
        [0x22, 0x80, 0x22], [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22], [0xFF], [0x31, 0x80],
    ]

    @Test("The JSON validator accepts exactly the sample texts that the JSON parser accepts", arguments: samples)
    func agreesWithParser(text: String) {
        #expect(isValid(Array(text.utf8)) == ((try? JSON(parsing: text)) != nil))
    }

    @Test("The validator's result is the same for a whole text, for any two pieces of the text and byte by byte")
    func splitAnywhere() {
        for bytes in Self.samples.map({ Array($0.utf8) }) + Self.invalidUTF8 {
            let whole = isValid(bytes)
            for cut in 0...bytes.count {
                #expect(isValid([bytes[..<cut], bytes[cut...]]) == whole, "\(bytes) cut at \(cut)")
            }
            #expect(isValid(bytes.indices.map { bytes[$0...$0] }) == whole, "\(bytes) byte by byte")
        }
    }

    @Test("The validator refuses bytes that are not UTF-8", arguments: invalidUTF8)
    func notUTF8(bytes: [UInt8]) {
        #expect(!isValid(bytes))
    }

    @Test("The JSON validator agrees with the JSON parser about random texts, except for duplicate member names")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"", "\\", "\\u", "00e9", "1", "0", "-", ".", "e", "E",
            "+", "true", "null",
            "fals", " ", "\n", "é", "\u{1}",
        ]
        var valid = 0
        for _ in 0..<100_000 {
            let count = Int.random(in: 1...7, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator)! }.joined()
            let parsed = Result { () throws(JSON.SyntaxError) in try JSON(parsing: text) }
            // The validator accepts duplicate member names.
            if case .failure(let error) = parsed, error.reason.contains("twice") { continue }
            if case .success = parsed { valid += 1 }
            #expect(isValid(Array(text.utf8)) == ((try? parsed.get()) != nil), "\(text.debugDescription)")
        }
        #expect(valid > 1000)
    }

    @Test("The validator accepts duplicate member names and lone surrogates, because RFC 8259 allows both")
    func lenient() {
        #expect(isValid(Array(#"{"a":1,"a":2}"#.utf8)))
        #expect(isValid(Array(#""\ud83d""#.utf8)))
    }

    @Test("The validator fails as soon as no further input can make the text valid")
    func earlyStop() {
        var validator = JSONValidator()
        Array("[1,x".utf8).withUnsafeBytes { validator.feed($0) }
        #expect(validator.isFailed)
        Array("]".utf8).withUnsafeBytes { validator.feed($0) }
        #expect(validator.isFailed)
        #expect(!validator.finish())
        var open = JSONValidator()
        Array("[1,".utf8).withUnsafeBytes { open.feed($0) }
        #expect(!open.isFailed)
        #expect(!open.finish())
    }

    @Test("Nesting up to the limit is valid, deeper nesting is not, and a million levels do not overflow the stack")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(isValid(nested(JSONValidator.depthLimit)))
        #expect(!isValid(nested(JSONValidator.depthLimit + 1)))
        #expect(!isValid(nested(1_000_000)))
    }

    /// Tests of RFC 8259 §8.1.
    @Test("A byte order mark before a text is ignored, even byte by byte; an incomplete or later mark is invalid")
    func byteOrderMark() throws {
        let mark = JSONEncoding.byteOrderMark
        for text in ["1", " {} ", "[1]"] {
            let bytes = mark + Array(text.utf8)
            #expect(isValid(bytes))
            #expect(isValid(bytes.map { [$0][...] }))
            #expect(try JSON(parsing: bytes) == JSON(parsing: text))
        }
        for bytes in [
            mark, Array(mark.prefix(2)) + [0x31], mark + mark + [0x31], [0x31] + mark, [0x5B] + mark + [0x5D],
        ] {
            #expect(!isValid(bytes))
            #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: bytes) }
        }
    }

    @Test(
        "A text in UTF-16 or UTF-32 is reported with its encoding",
        arguments: [
            (String.Encoding.utf16, "UTF-16"), (.utf16LittleEndian, "UTF-16"), (.utf16BigEndian, "UTF-16"),
            (.utf32, "UTF-32"), (.utf32LittleEndian, "UTF-32"), (.utf32BigEndian, "UTF-32"),
        ])
    func otherEncodings(encoding: String.Encoding, name: String) throws {
        for text in ["{\"a\": \"\u{E9}\"}", "[]", "12"] {
            let bytes = Array(try #require(text.data(using: encoding)))
            for pieces in [[bytes[...]], bytes.map { [$0][...] }] {
                var validator = JSONValidator()
                for piece in pieces { piece.withUnsafeBytes { validator.feed($0) } }
                #expect(!validator.finish())
                #expect(validator.encodingFault?.contains(name) == true)
            }
            let error = #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: bytes) }
            #expect(error?.reason.contains(name) == true)
        }
    }

    @Test("A string that is not UTF-8 is reported differently from other faults")
    func latin1() {
        func fault(_ bytes: [UInt8]) -> String? {
            var validator = JSONValidator()
            bytes.withUnsafeBytes { validator.feed($0) }
            return validator.encodingFault
        }
        #expect(fault([0x22, 0xE9, 0x22])?.contains("not UTF-8") == true)
        #expect(fault([0x22, 0xC3, 0x22])?.contains("not UTF-8") == true)
        for text in ["{", "", "1 2", "[1]", "\"\u{E9}\""] { #expect(fault(Array(text.utf8)) == nil) }
    }
}
