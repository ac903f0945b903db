@testable import Origin

/// The first byte selects one or two codings, and the rest is a body in these codings.
enum CodingProperties {
    private static let names = ["gzip", "deflate", "br", "zstd"]
    private static let limit: Int64 = 1 << 20

    static func check(_ bytes: [UInt8]) throws(Violation) {
        guard let first = bytes.first else { return }
        var codings = [names[Int(first) % 4]]
        if first >= 0x80 { codings.append(names[Int(first) / 4 % 4]) }
        let body = bytes[1...]
        let whole = try decode([body], codings)
        // The first 200 bytes come byte by byte, because the headers of the codings lie in them.
        let single = try decode(body.prefix(200).indices.map { body[$0...$0] } + [body.dropFirst(200)], codings)
        let cut = body.startIndex + body.count / 2
        let halves = try decode([body[..<cut], body[cut...]], codings)
        try demand(whole == halves && whole == single, "input in pieces gives the same body", "\(codings)")
    }

    /// The decoded body that arrives in `pieces`, or `nil` if the body is refused.
    private static func decode(_ pieces: [ArraySlice<UInt8>], _ codings: [String]) throws(Violation) -> [UInt8]? {
        let memory = DecoderMemory(limit: 64 << 20)
        var output: [UInt8] = []
        var hasOddPiece = false
        let isWhole = { () -> Bool in
            guard let decoding = try? ContentDecoding(names: codings, sizeLimit: limit, memory: memory) else {
                return false
            }
            do {
                for piece in pieces where !piece.isEmpty {
                    try piece.withUnsafeBytes { bytes in
                        try decoding.decode(bytes) { decoded in
                            if decoded.isEmpty || decoded.count > contentPieceSize { hasOddPiece = true }
                            output += decoded
                        }
                    }
                }
                try decoding.finish()
                return true
            } catch {
                return false
            }
        }()
        try demand(!hasOddPiece, "a decoded piece is not empty and within the limit", "\(codings)")
        try demand(Int64(output.count) <= limit, "no body is longer than the limit", "\(output.count)")
        try demand(memory.byteCount == 0, "the decoder returns all its memory", "\(memory.byteCount)")
        return isWhole ? output : nil
    }
}
