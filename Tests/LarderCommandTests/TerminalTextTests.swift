import Primitives
import Testing

@testable import LarderCommand

@Suite("The text for a terminal")
struct TerminalTextTests {
    private func shown(_ bytes: [UInt8], pieces size: Int) throws -> [UInt8] {
        var text = TerminalText()
        var shown: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            shown += try text.take(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        try text.finish()
        return shown
    }

    @Test(
        "Text is shown unchanged for any division of the text into pieces",
        arguments: ["", "a\tb\r\nc\n", "é日😀", "e\u{301}\u{feff}\u{200d}\u{10ffff}"])
    func text(text: String) throws {
        let bytes = Array(text.utf8)
        for size in 1...8 { #expect(try shown(bytes, pieces: size) == bytes, "pieces of \(size)") }
    }

    @Test(
        "Characters that control the terminal or the text direction and invalid UTF-8 are refused",
        arguments: [
            [0x00], [0x07], [0x08], [0x1b, 0x5b, 0x32, 0x4a], [0x7f], [0xc2, 0x80], [0xc2, 0x9b, 0x32, 0x4a],
            [0xe2, 0x80, 0xae], [0xe2, 0x81, 0xa6], [0x80], [0x9b], [0xff], [0xc0, 0xaf], [0xc3], [0xc3, 0x61],
            [0xe6, 0x97], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80],
        ] as [[UInt8]])
    func refused(bytes: [UInt8]) {
        for size in 1...8 {
            #expect(throws: CommandFailure.self, "pieces of \(size)") {
                try shown(Array("text ".utf8) + bytes, pieces: size)
            }
        }
    }

    @Test("JSON for a terminal escapes control characters and keeps its value")
    func json() throws {
        let json: JSON = ["\u{202e}": "\\\u{9b}2J\u{7f}\u{e0001}\u{2066}\u{2028}é😀"]
        let text = LogText.json(json)
        #expect(text == ##"{"\u202e":"\\\u009b2J\u007f\udb40\udc01\u2066\u2028é😀"}"##)
        #expect(try JSON(parsing: text) == json)
    }
}
