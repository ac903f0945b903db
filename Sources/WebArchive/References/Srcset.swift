/// The candidates of `srcset` (WHATWG HTML §4.8.4.2.2): URLs that are separated by white space and commas, each with
/// descriptors. A comma within a URL belongs to the URL.
enum Srcset {
    /// Finds the URLs without their descriptors and without the commas behind them.
    static func urls(in bytes: Span<UInt8>) -> [Range<Int>] {
        var urls: [Range<Int>] = []
        var index = 0
        let comma = UInt8(ascii: ",")
        while true {
            while index < bytes.count, bytes[index].isSpace || bytes[index] == comma { index += 1 }
            guard index < bytes.count else { return urls }
            let start = index
            while index < bytes.count, !bytes[index].isSpace { index += 1 }
            var end = index
            while bytes[end - 1] == comma { end -= 1 }
            urls.append(start..<end)
            // A URL that ends with a comma has no descriptors.
            if end == index { skipDescriptors(&index, in: bytes) }
        }
    }

    private static func skipDescriptors(_ index: inout Int, in bytes: Span<UInt8>) {
        var depth = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "(") { depth = 1 }
            if byte == UInt8(ascii: ")") { depth = 0 }
            if byte == UInt8(ascii: ","), depth == 0 { return }
        }
    }
}
