import CCurl
import HTTPTypes
import Primitives

/// The body of a response: its framing, its content codings, and the limit of its length.
extension Transfer {
    /// The result of receiving a piece of the body.
    enum Reception {
        case taken
        /// libcurl keeps the piece, and delivers it again when it continues.
        case held
        case failed
    }

    /// Receives a piece of the body, including its chunk framing.
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
            // The head gives the redirect, so the body does not matter.
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

    /// The names of the codings to decode, in the order in which they were applied, without the coding of the file
    /// itself.
    ///
    /// The name of the file comes from the URL in the request, even when a redirect leads to another name.
    func codings(of fields: HTTPFields) -> [String] {
        guard request.decodesContent else { return [] }
        var names = ContentCoding.names(in: fields)
        let file = CompressedFile(urls: [request.url, url.text], fields: fields)
        if let first = names.first, file.isCoded(by: first) { names.removeFirst() }
        return names
    }

    /// Reads a piece of a chunked body. A piece can contain several chunks, and the receiver can pause between two
    /// chunks. libcurl then delivers the whole piece again, and this method skips the part that was read.
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
            // libcurl searches for the end of the last chunk itself, and may find a different end.
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
            // Reading a short body allows the connection to be reused; reading a long body costs more than a new
            // connection.
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
    /// The rules for responses. libcurl delivers the bytes unchanged (`CURLOPT_HTTP_TRANSFER_DECODING`); its own
    /// reading of the chunks only decides when it stops.
    static let ofAnswers = ChunkedFraming.Rules(extensionLimit: 8 << 10, trailerLimit: 64 << 10)
}
