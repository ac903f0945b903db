import Primitives
import Testing

@Suite("JSON")
struct JSONTests {
    @Test(
        "JSON values are parsed, and written again unchanged",
        arguments: [
            "null", "true", "false", "0", "-0", "1.50", "1e3", "1E-3", "12345678901234567890", "0.1e+1", #""""#,
            #""a""#, "[]", "{}",
            "[1,[2,[]],{}]", #"{"a":1,"b":[null,{"c":"d"}]}"#, #"{"z":1,"a":2}"#, #""é日😀""#, #""\"\\\n\r\t""#,
            #"{"":""}"#,
            #""\u0000\u001f""#, #""/""#,
        ])
    func roundTrip(text: String) throws {
        #expect(try JSON(parsing: text).text == text)
    }

    @Test(
        "White space and escapes are read, and written in a normal form",
        arguments: [
            (" \t\r\n{ \"a\" : [ 1 , 2 ] } \n", #"{"a":[1,2]}"#), (#""\u0041\u00e9\/""#, #""Aé/""#),
            (#""\ud83d\ude00""#, #""😀""#), (#""\b\f""#, #""\u0008\u000c""#), (#""\uD83D\uDE00""#, #""😀""#),
            ("\"\u{7F}\u{2028}\"", "\"\u{7F}\u{2028}\""),
        ])
    func normalised(text: String, expected: String) throws {
        #expect(try JSON(parsing: text).text == expected)
    }

    @Test(
        "A text that is not JSON is refused",
        arguments: [
            "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "1.", ".5", "1.e3",
            "1e", "1e+",
            "0x10", "1_000", "1 2", "1,", "[1,]", "[,1]", "[1 2]", "[", "]", "[1", "{", "}", "{\"a\"}", "{\"a\":}",
            "{\"a\":1,}",
            "{,}", "{a:1}", "{1:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "\"", "\"a", "'a'", "\"\n\"",
            "\"\t\"", "\"\0\"",
            "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\u+123\"", "{}{}", "[][]", "null,",
            "// c\n1", "1 /* c */",
            "[1]x", "\u{A0}1", "[\u{0B}]",
        ])
    func refused(text: String) {
        #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: text) }
    }

    @Test(
        "Lone surrogates are refused (RFC 8259 §8.2)",
        arguments: [
            #""\ud83d""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ude00\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#,
            #""\ud83d\u0041""#,
        ])
    func surrogates(text: String) {
        #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: text) }
    }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22], [0x22, 0x80, 0x22], [0xFF], [0x31, 0x80],
            [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], [0xFE, 0xFF, 0x00, 0x31],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: bytes) }
    }

    @Test("Duplicate member names are refused, even with different escapes (RFC 7493 §2.3)")
    func duplicateNames() throws {
        #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: #"{"a":1,"a":2}"#) }
        #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: #"{"a":1,"\u0061":2}"#) }
        #expect(try JSON(parsing: #"{"a":{"a":1}}"#) == ["a": ["a": 1]])
    }

    @Test("Canonically equivalent member names count as two names, because RFC 8259 §8.3 compares code units")
    func canonicallyEquivalentNames() throws {
        let text = #"{"\#u{E9}":1,"e\#u{301}":2}"#
        #expect(try JSON(parsing: text).text == text)
    }

    @Test("The nesting of arrays and objects is limited")
    func depth() throws {
        func nested(_ open: String, _ close: String, _ depth: Int) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            #expect(throws: Never.self) { try JSON(parsing: nested(open, close, 64)) }
            #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: nested(open, close, 65)) }
            #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: nested(open, close, 1_000_000)) }
            #expect(throws: Never.self) { try JSON(parsing: nested(open, close, 3), depthLimit: 3) }
            #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: nested(open, close, 4), depthLimit: 3) }
        }
        #expect(throws: Never.self) { try JSON(parsing: "[[],[],[]]", depthLimit: 2) }
        #expect(throws: Never.self) { try JSON(parsing: "1", depthLimit: 0) }
    }

    @Test("The error for invalid JSON names the byte offset of the fault")
    func offset() {
        let error = #expect(throws: JSON.SyntaxError.self) { try JSON(parsing: #"{"a":tru}"#) }
        #expect(error?.offset == 5)
        #expect(error?.description.hasPrefix("at byte 5: ") == true)
    }

    @Test("A JSON value converts to its own type, and to no other type")
    func accessors() throws {
        let json: JSON = ["s": "text", "b": true, "n": 2, "a": [1, "x"], "z": .null]
        #expect(json["s"]?.stringValue == "text")
        #expect(json["b"]?.boolValue == true)
        #expect(json["n"]?.doubleValue == 2)
        #expect(json["a"]?.arrayValue == [1, "x"])
        #expect(json["z"] == .null)
        #expect(json["missing"] == nil)
        #expect(json["s"]?.doubleValue == nil)
        #expect(json.stringValue == nil)
        #expect(JSON.number("1e999").doubleValue == .infinity)
        #expect(json["n"]?.integerValue == 2)
        #expect(JSON.number("9223372036854775807").integerValue == .max)
        for text in ["9223372036854775808", "1.0", "1e3"] { #expect(JSON.number(text).integerValue == nil) }
        #expect(json.text == #"{"s":"text","b":true,"n":2,"a":[1,"x"],"z":null}"#)
    }

    @Test("In JSON, a duration is a number of seconds without needless digits, and an instant is a text in RFC 3339")
    func durationsAndDates() {
        #expect(JSON.seconds(.seconds(20)).text == "20")
        #expect(JSON.seconds(.milliseconds(500)).text == "0.5")
        #expect(JSON.seconds(.milliseconds(1)).text == "0.001")
        #expect(JSON.seconds(.milliseconds(-1500)).text == "-1.5")
        #expect(JSON.seconds(.zero).text == "0")
        #expect(JSON.date(Timestamp(seconds: 0)).text == "\"1970-01-01T00:00:00.000Z\"")
        #expect(JSON.date(nil) == .null)
        #expect(JSON.string(orNull: nil) == .null)
    }
}
