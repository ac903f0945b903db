import Primitives
import Testing

@testable import WebArchive

@Suite("The encodings of documents")
struct DocumentTextTests {
    private static let html: [(body: [UInt8], charset: String?, text: String)] = [
        (Array("\u{feff}ä".utf8), "latin1", "ä"), ([0xff, 0xfe, 0xe4, 0x00], "utf-8", "ä"),
        ([0xfe, 0xff, 0x00, 0xe4], nil, "ä"),
        ([0xe4], "ISO-8859-1", "ä"), ([0x80], "latin1", "€"), (Array("ä".utf8), nil, "ä"), ([0xe4], nil, "ä"),
        ([0x93, 0xfa], " Shift_JIS ", "日"), ([0xe4], "unknown", "ä"), ([0xe4], "utf-8", "\u{fffd}"),
        ([0x93], "shift_jis", "\u{fffd}"),
        ([0xb0, 0xa1], "gb2312", "啊"), ([0x00, 0x61], "utf-16be", "a"), ([], nil, ""),
    ]

    @Test(
        "A byte order mark beats the charset of the header, and a document without both is UTF-8 or Windows-1252",
        arguments: html)
    func headers(body: [UInt8], charset: String?, text: String) {
        #expect(String(decoding: DocumentText(body, .html, charset: charset).bytes, as: UTF8.self) == text)
    }

    @Test(
        "A document declares its encoding, also behind its first 1,024 bytes",
        arguments: [
            "<meta charset=shift_jis>", "<META CHARSET='Shift_JIS'>",
            "<meta http-equiv=content-type content='text/html; charset=sjis'>",
            "<meta content=\"text/html;charset = 'x-sjis'\" http-equiv=Content-Type>",
            "<!-- <meta charset=big5> --><meta charset=sjis>",
            "<title>" + String(repeating: "x", count: 5000) + "</title><meta charset=sjis>",
            "<meta name=a content='charset=big5'><meta charset=sjis>",
            "<meta charset=nothing charset=big5><meta charset=sjis>",
        ])
    func declarations(head: String) {
        let text = DocumentText(Array(head.utf8) + [0x93, 0xfa], .html, charset: nil)
        #expect(String(decoding: text.bytes, as: UTF8.self).hasSuffix("日"))
        #expect(DocumentText(Array("<meta charset=utf-16>ä".utf8), .html, charset: nil).encoding == .utf8)
    }

    @Test("XML declares its encoding in its first line, and a style sheet by @charset or by its document")
    func otherFormats() throws {
        let sjis = try #require(TextEncoding(label: "sjis"))
        func text(_ head: String, _ format: DocumentText.Format) -> String {
            String(
                decoding: DocumentText(Array(head.utf8) + [0x93, 0xfa], format, charset: nil).bytes.suffix(3),
                as: UTF8.self)
        }
        #expect(text("<?xml version='1.0' encoding = \"Shift_JIS\"?>", .xml) == "日")
        #expect(text("@charset \"Shift_JIS\";", .css(of: .utf8)) == "日")
        #expect(text("@charset 'Shift_JIS';", .css(of: .utf8)) != "日")
        #expect(text("a", .css(of: sjis)) == "日")
    }

    @Test("An invalid byte in ISO-2022-JP does not end the Japanese mode")
    func modes() throws {
        let encoding = try #require(TextEncoding(label: "iso-2022-jp"))
        let text: [UInt8] = [0x1b, 0x24, 0x42, 0x46, 0x7c, 0xff, 0x46, 0x7c, 0x1b, 0x28, 0x42, 0x61]
        #expect(String(decoding: encoding.decode(text), as: UTF8.self) == "日\u{fffd}日a")
        #expect(encoding.encodingQuery(Array("日€a".utf8)[...]).last == UInt8(ascii: "a"))
    }
}
