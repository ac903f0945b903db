import Primitives

@testable import MicroHTTPD
@testable import Origin

/// Bytes from the network: request heads of clients, and chunked bodies of clients and of origins.
enum ChunkProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        for rules in [ChunkedFraming.Rules.ofRequests, .ofAnswers] { try checkChunks(bytes, rules) }
        try checkHead(bytes)
    }

    private static func checkChunks(_ bytes: [UInt8], _ rules: ChunkedFraming.Rules) throws(Violation) {
        let whole = read([bytes[...]], rules)
        let single = read(bytes.indices.map { bytes[$0...$0] }, rules)
        let halves = read([bytes[..<(bytes.count / 2)], bytes[(bytes.count / 2)...]], rules)
        try demand(whole == single && whole == halves, "input in pieces gives the same content")
        guard let whole else { return }
        try demand(
            whole.content.count <= whole.count && whole.count <= bytes.count, "the content is not longer than the body")
        guard whole.isComplete else { return }
        try demand(
            Array(bytes[..<whole.count].suffix(2)) == [0x0d, 0x0a], "a complete body ends with CRLF", bytes.text)
        try demand(
            read([bytes[..<whole.count]], rules) == whole, "bytes behind a body do not change the body", bytes.text)
        let written = Array("\(String(whole.content.count, radix: 16))\r\n".utf8) + whole.content + Array("\r\n".utf8)
        let again = read([(whole.content.isEmpty ? [] : written)[...], Array("0\r\n\r\n".utf8)[...]], rules)
        try demand(again?.content == whole.content && again?.isComplete == true, "written content reads back unchanged")
    }

    private struct Found: Equatable {
        var content: [UInt8] = []
        var count = 0
        var isComplete = false
    }

    /// The content of a chunked body that arrives in `pieces`, or `nil` if the body is refused.
    private static func read(_ pieces: [ArraySlice<UInt8>], _ rules: ChunkedFraming.Rules) -> Found? {
        var framing = ChunkedFraming(rules)
        var found = Found()
        do {
            for piece in pieces {
                try piece.withUnsafeBytes { bytes in
                    var index = 0
                    while let content = try framing.next(in: bytes, from: &index) { found.content += bytes[content] }
                    found.count += index
                }
            }
        } catch {
            return nil
        }
        found.isComplete = framing.isComplete
        return found
    }

    /// Checks the bytes as a head that libmicrohttpd has found. libmicrohttpd skips NUL, CR and LF bytes before the
    /// head as empty lines.
    private static func checkHead(_ bytes: [UInt8]) throws(Violation) {
        let skipped = bytes.prefix { $0 == 0 || $0 == 0x0d || $0 == 0x0a }
        guard skipped.count < bytes.count else { return }
        let isGood =
            !bytes.contains(0) && skipped.count % 2 == 0
            && skipped.enumerated().allSatisfy { $0.element == ($0.offset % 2 == 0 ? 0x0d : 0x0a) }
        for size in [1, 3, bytes.count] {
            let defect = bytes.withUnsafeBytes { memory -> RequestDefect? in
                let requests = RequestBytes()
                for start in stride(from: 0, to: bytes.count, by: size) {
                    _ = requests.receive(
                        UnsafeRawBufferPointer(rebasing: memory[start..<min(start + size, bytes.count)]))
                }
                return requests.endHead(
                    at: memory.baseAddress! + skipped.count, size: bytes.count - skipped.count, body: .length(0))
            }
            try demand(
                defect == (isGood ? nil : .malformedHead), "a NUL or an odd line before a head makes it malformed",
                bytes.text)
        }
    }
}
