@testable import Origin

/// A body in chunks, as it comes from an origin.
enum OriginChunkProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        let whole = read([bytes[...]])
        let single = read(bytes.indices.map { bytes[$0...$0] })
        let halves = read([bytes[..<(bytes.count / 2)], bytes[(bytes.count / 2)...]])
        try demand(whole == single && whole == halves, "pieces make no difference")
        guard let whole else { return }
        try demand(whole.content.count <= whole.count && whole.count <= bytes.count, "content is part of the body")
        guard whole.isComplete else { return }
        let written = Array("\(String(whole.content.count, radix: 16))\r\n".utf8) + whole.content + Array("\r\n".utf8)
        let again = read([(whole.content.isEmpty ? [] : written)[...], Array("0\r\n\r\n".utf8)[...]])
        try demand(again?.content == whole.content && again?.isComplete == true, "content is read as it is written")
    }

    private struct Found: Equatable {
        var content: [UInt8] = []
        var count = 0
        var isComplete = false
    }

    /// What is read of a body that comes in pieces; `nil` when it is refused.
    private static func read(_ pieces: [ArraySlice<UInt8>]) -> Found? {
        var body = ChunkedBody()
        var found = Found()
        do {
            for piece in pieces {
                found.count += try piece.withUnsafeBytes {
                    try body.read($0) {
                        found.content += $0
                        return true
                    }
                }
            }
        } catch {
            return nil
        }
        found.isComplete = body.isComplete
        return found
    }
}
