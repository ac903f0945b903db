@testable import MicroHTTPD

/// Bytes of a client's requests, as they come from the network: a body in chunks, and a head.
enum ChunkProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        try checkChunks(bytes)
        try checkHead(bytes)
    }

    private static func checkChunks(_ bytes: [UInt8]) throws(Violation) {
        let whole = read(bytes, pieces: max(1, bytes.count))
        for size in [1, 2, 7] {
            try demand(read(bytes, pieces: size) == whole, "a body is the same however it comes in pieces", bytes.text)
        }
        guard case .end(let count) = whole else { return }
        try demand((5...bytes.count).contains(count), "a body ends within its bytes", bytes.text)
        try demand(Array(bytes[..<count].suffix(2)) == [0x0d, 0x0a], "a body ends with a line", bytes.text)
        let rest = read(Array(bytes[..<count]), pieces: count)
        try demand(rest == whole, "what follows a body does not change where it ends", bytes.text)
        try demand(read(Array(bytes[..<(count - 1)]), pieces: count) == .more, "a body ends once", bytes.text)
    }

    private static func read(_ bytes: [UInt8], pieces size: Int) -> ChunkFraming.Step {
        var framing = ChunkFraming()
        for start in stride(from: 0, to: bytes.count, by: size) {
            let step = bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { framing.take($0) }
            switch step {
            case .more: continue
            case .end(let count): return .end(start + count)
            case .refuse: return step
            }
        }
        return .more
    }

    /// Takes the bytes for a head that libmicrohttpd has found, behind what it takes for empty lines.
    private static func checkHead(_ bytes: [UInt8]) throws(Violation) {
        let skipped = bytes.prefix { $0 == 0 || $0 == 0x0d || $0 == 0x0a }
        guard skipped.count < bytes.count else { return }
        let isGood =
            !bytes.contains(0) && skipped.count % 2 == 0
            && skipped.enumerated().allSatisfy { $0.element == ($0.offset % 2 == 0 ? 0x0d : 0x0a) }
        for size in [1, 3, bytes.count] {
            let defect = bytes.withUnsafeBytes { memory -> Request.Defect? in
                let requests = RequestBytes()
                for start in stride(from: 0, to: bytes.count, by: size) {
                    _ = requests.receive(
                        UnsafeRawBufferPointer(rebasing: memory[start..<min(start + size, bytes.count)]))
                }
                return requests.endHead(
                    at: memory.baseAddress! + skipped.count, size: bytes.count - skipped.count, body: .length(0))
            }
            try demand(
                defect == (isGood ? nil : .malformedHead), "a NUL, or an odd line before it, spoils a head", bytes.text)
        }
    }
}
