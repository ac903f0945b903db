import Primitives

/// The value of a refresh (WHATWG HTML §4.2.5.3 `http-equiv=refresh`): seconds, and optionally a URL.
enum RefreshContent {
    /// Returns the range of the URL; `nil` without a URL, which reloads the same page, and for a malformed value.
    static func url(in bytes: Span<UInt8>) -> Range<Int>? {
        var index = bytes.skippingSpace(from: 0)
        let start = index
        while index < bytes.count, bytes[index].isDigit || bytes[index] == UInt8(ascii: ".") { index += 1 }
        guard index > start, index < bytes.count else { return nil }
        guard bytes[index].isSpace || bytes[index] == UInt8(ascii: ";") || bytes[index] == UInt8(ascii: ",") else {
            return nil
        }
        index = bytes.skippingSpace(from: index)
        if index < bytes.count, bytes[index] == UInt8(ascii: ";") || bytes[index] == UInt8(ascii: ",") { index += 1 }
        index = bytes.skippingSpace(from: index)
        if bytes.hasPrefix(ignoringCase: "url", at: index) {
            let sign = bytes.skippingSpace(from: index + 3)
            if sign < bytes.count, bytes[sign] == UInt8(ascii: "=") { index = bytes.skippingSpace(from: sign + 1) }
        }
        guard index < bytes.count else { return nil }
        if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") {
            let end = bytes.firstIndex(of: bytes[index], from: index + 1) ?? bytes.count
            return index + 1..<end
        }
        return index..<bytes.count
    }
}
