import Glibc

extension UInt8 {
    /// The byte, with an ASCII letter in lower case.
    @inline(__always) var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
    @inline(__always) var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    /// Tab, line feed, form feed, carriage return and space: the white space of HTML and CSS.
    @inline(__always) var isSpace: Bool { self == 0x20 || self == 0x0a || self == 0x09 || self == 0x0d || self == 0x0c }
}

extension Span<UInt8> {
    /// The index of the first `byte` from `start` on; `nil` if there is none.
    @inline(__always)
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { buffer in
            let begin = buffer.baseAddress! + start
            return memchr(begin, Int32(byte), buffer.count - start).map { start + (UnsafeRawPointer($0) - begin) }
        }
    }

    /// The index behind the first `text` from `start` on; `nil` if the text does not occur.
    func end(of text: StaticString, from start: Int) -> Int? {
        let length = text.utf8CodeUnitCount
        var index = start
        while let first = firstIndex(of: text.utf8Start[0], from: index) {
            if hasPrefix(text, at: first) { return first + length }
            index = first + 1
        }
        return nil
    }

    func hasPrefix(_ text: StaticString, at start: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard start + length <= count else { return false }
        for offset in 0..<length where self[start + offset] != text.utf8Start[offset] { return false }
        return true
    }

    /// Compares without regard to ASCII case; `text` is in lower case.
    func hasPrefix(ignoringCase text: StaticString, at start: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard start + length <= count else { return false }
        for offset in 0..<length where self[start + offset].lowercased != text.utf8Start[offset] { return false }
        return true
    }

    /// The index of the first byte from `start` on that is no white space; `count` if there is none.
    @inline(__always)
    func skippingSpace(from start: Int) -> Int {
        var index = start
        while index < count, self[index].isSpace { index += 1 }
        return index
    }

    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer(Array.init)
    }

    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
