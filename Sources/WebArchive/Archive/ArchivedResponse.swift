import Primitives

/// Reads the HTTP response in the block of a `response` record, piece by piece. A chunked body is decoded, because the
/// chunks belong to the connection over which it came.
package struct ArchivedResponse {
    /// The status and the fields of the response.
    package struct Head: Sendable {
        package var status: Int
        /// In the order of the block, without Transfer-Encoding, Connection and other fields of the connection.
        package var fields: [(name: String, value: String)]
    }

    /// The block is no whole HTTP response; the text says why.
    package struct Malformed: Error, Equatable {
        package let reason: String
    }

    private static let headLimit = 256 << 10
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    package private(set) var head: Head?
    /// The bytes of the block in front of the body.
    package private(set) var headLength: Int64 = 0
    private var text: [UInt8] = []
    private var framing: ChunkedFraming?
    /// The bytes of the body that are still missing; `nil`: the body ends with the block.
    private var missing: Int64?
    /// The first value of ``missing``.
    private var whole: Int64?

    package init() {}

    /// Passes the bytes of the body to `use`; ``head`` is set before the first of them.
    package mutating func read<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ problem: (Malformed) -> Failure,
        _ use: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var index = 0
        while head == nil {
            guard index < bytes.count else { return }
            text.append(bytes[index])
            index += 1
            headLength += 1
            guard text.count <= Self.headLimit else {
                throw problem(Malformed(reason: "the head of a response is too long"))
            }
            guard text.last == .lineFeed, text.hasSuffix("\r\n\r\n") || text.hasSuffix("\n\n") else { continue }
            do { try readHead() } catch { throw problem(error) }
        }
        if framing != nil {
            while index < bytes.count {
                let piece: Range<Int>?
                do {
                    piece = try framing!.next(in: bytes, from: &index)
                } catch {
                    throw problem(Malformed(reason: error.reason))
                }
                guard let piece else { return }
                try use(UnsafeRawBufferPointer(rebasing: bytes[piece]))
            }
        } else {
            let count = Int(min(missing ?? .max, Int64(bytes.count - index)))
            if let missing { self.missing = missing - Int64(count) }
            if count > 0 { try use(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count])) }
        }
    }

    /// Call at the end of the block. Throws if the body is not whole.
    package func finish() throws(Malformed) {
        guard head != nil else { throw Malformed(reason: "the block has no whole head of a response") }
        if let framing, !framing.isComplete { throw Malformed(reason: "the block ends within a chunked body") }
        if let missing, missing > 0 { throw Malformed(reason: "the body is shorter than its Content-Length") }
    }

    /// Whether the body is the rest of a block of `length` bytes as it is. Known with the head.
    package func isRest(ofBlock length: Int64) -> Bool {
        framing == nil && whole.map { $0 == length - headLength } ?? true
    }

    private mutating func readHead() throws(Malformed) {
        let lines = text.split(separator: .lineFeed).map { $0.last == .carriageReturn ? $0.dropLast() : $0 }
        text = []
        guard let first = lines.first, first.starts(with: "HTTP/".utf8) else {
            throw Malformed(reason: "the block does not begin with a status line")
        }
        let words = first.split(separator: 0x20, maxSplits: 2)
        guard words.count > 1, words[1].count == 3, let status = Int(String(decoding: words[1], as: UTF8.self)),
            status >= 100
        else { throw Malformed(reason: "the block does not begin with a status line") }
        guard status >= 200 else { throw Malformed(reason: "the response is an interim one, with status \(status)") }
        var fields: [(name: String, value: String)] = []
        var (isChunked, length) = (false, Int64?.none)
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            guard name.utf8.allSatisfy(\.isTokenCharacter) else { continue }
            var value = line[(colon + 1)...].drop { $0.isFieldSpace }
            while let last = value.last, last.isFieldSpace { value = value.dropLast() }
            let text = String(decoding: value.map { $0.isFieldContent ? $0 : 0x20 }, as: UTF8.self)
            switch name.lowercased() {
            case "transfer-encoding": isChunked = text.lowercased().hasSuffix("chunked")
            case "content-length": length = Int64(text)
            default: break
            }
            if !Self.connectionFields.contains(name.lowercased()) { fields.append((name, text)) }
        }
        head = Head(status: status, fields: fields)
        let hasBody = status >= 200 && status != 204 && status != 304
        if isChunked {
            framing = ChunkedFraming(.init(extensionLimit: 4096, trailerLimit: 16 << 10))
        } else {
            missing = hasBody ? length.map { max(0, $0) } : 0
            whole = missing
        }
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
