import CCurl
import HTTPTypes
import Primitives

/// The body of an answer: its framing, its content codings, and the limit of its length.
extension Transfer {
    /// Where a piece of the body went.
    enum Reception {
        case taken
        /// libcurl keeps the piece, and brings it again when it is told to go on.
        case held
        case failed
    }

    /// A piece of the body, with its chunk framing when there is one.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        lastProgress = now
        if isFTP && answer == nil && !answerFTP() { return .failed }
        if bytes.isEmpty { return .taken }
        if redirection == nil && control.isPaused {
            isHolding = true
            return .held
        }
        do {
            if chunks != nil { return try readChunks(bytes) }
            connection?.count(bytes.count)
            try take(bytes)
            return .taken
        } catch _ where redirection != nil {
            // The head says where to go on; the body does not matter.
        } catch let error as ChunkedFraming.Problem {
            failure = .malformedResponse(error.reason)
        } catch let error as ContentCodingError {
            failure = .contentCoding(error.reason)
        } catch is ContentDecoding.TooLong {
            failure = .tooLarge(limit: request.sizeLimit)
        } catch {
            failure = .receiver(error)
        }
        return .failed
    }

    /// The names of the codings to undo, in the order in which they were applied. A coding of the file itself stays.
    ///
    /// The file has the name in the URL that the caller asked for, also where a redirect leads to another name.
    func codings(of fields: HTTPFields) -> [String] {
        guard request.decodesContent else { return [] }
        var names = ContentCoding.names(in: fields)
        let file = CompressedFile(urls: [request.url, url.text], fields: fields)
        if let first = names.first, file.isCoded(by: first) { names.removeFirst() }
        return names
    }

    /// Reads a piece of a body in chunks. A piece may have several chunks, and the receiver may pause between two of
    /// them: libcurl then brings the whole piece again, and the part that was read is left out.
    private func readChunks(_ piece: UnsafeRawBufferPointer) throws -> Reception {
        var index = heldCount
        while let content = try chunks!.next(in: piece, from: &index) {
            guard deliverHeldHead() else { return .failed }
            try take(UnsafeRawBufferPointer(rebasing: piece[content]))
            if control.isPaused { break }
        }
        if chunks!.isComplete, !deliverHeldHead() { return .failed }
        connection?.count(index - heldCount)
        guard index < piece.count, !chunks!.isComplete else {
            heldCount = 0
            // libcurl looks for the end of the last chunk by itself, and may see another.
            if index < piece.count { closeAfterwards() }
            return .taken
        }
        heldCount = index
        isHolding = true
        return .held
    }

    private struct LongRedirect: Error {}

    private func take(_ content: UnsafeRawBufferPointer) throws {
        if redirection != nil {
            // Reading a little lets the connection be used again; a long body costs more than a new connection.
            redirectBodyLeft -= content.count
            guard redirectBodyLeft >= 0 else { throw LongRedirect() }
            return
        }
        let decoding = try decoding ?? makeDecoding()
        self.decoding = decoding
        try decoding.decode(content, into: deliver)
    }

    private func makeDecoding() throws -> ContentDecoding {
        try ContentDecoding(names: codings(of: answer?.fields ?? [:]), sizeLimit: request.sizeLimit)
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) throws {
        byteCount += Int64(bytes.count)
        guard byteCount <= request.sizeLimit else { throw ContentDecoding.TooLong() }
        try receiver.originDidSend(bytes)
    }
}

extension ChunkedFraming.Rules {
    /// Those of answers. libcurl hands over the bytes as they came (`CURLOPT_HTTP_TRANSFER_DECODING`), and its own
    /// reading only tells it when to stop.
    static let ofAnswers = ChunkedFraming.Rules(extensionLimit: 8 << 10, trailerLimit: 64 << 10)
}
