import CCurl
import HTTPTypes
import Primitives

extension Transfer {
    /// Receives a line of a head or of a trailer section. Returning `false` stops libcurl.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        lastProgress = now
        guard !isFTP else { return true }
        current.phase = .receiving
        current.connection?.count(line.count)
        do throws(ResponseHeadParser.Malformed) {
            let head = try current.parser.consume(line)
            current.hasHead = true
            return head.map(receive) ?? true
        } catch {
            current.failure = .malformedResponse(error.reason)
            return false
        }
    }

    private func receive(_ head: ResponseHeadParser.Head) -> Bool {
        guard head.status >= 200 else {
            if head.status != 100 { receiver.originDidAnswerInterim(originHead(head)) }
            return true
        }
        let answer = originHead(head)
        closeWhereUnclean(head, isAuthenticated: answer.authenticatesConnection)
        if head.isChunked { current.chunks = ChunkedFraming(.ofAnswers) }
        if head.status >= 300, let body = request.body {
            // The origin does not want the rest of the request's body (RFC 9110 §10.1.1, RFC 9112 §9.5).
            body.close()
            if isHolding { control.wake() }
        }
        if request.mayBeRedirected, [301, 302, 303, 307, 308].contains(head.status) {
            let locations = Set(head.fields[fields: .location].map { $0.withUnsafeBytesOfValue(Array.init) })
            guard locations.count < 2 else {
                current.failure = .redirectInvalid("the two Location fields differ")
                return false
            }
            current.redirection = locations.first
            if current.redirection != nil { return true }
        }
        resources.answered.note(self)
        guard answer.framing == .chunked else { return deliver(answer) }
        current.heldHead = answer
        return true
    }

    /// Returns `false` to stop the transfer; ``Try/failure`` then has the reason.
    func deliverHeldHead() -> Bool { current.heldHead.take().map(deliver) ?? true }

    /// Closes the connection after the response if more bytes may follow, or if it is authenticated for this caller.
    private func closeWhereUnclean(_ head: ResponseHeadParser.Head, isAuthenticated: Bool) {
        if head.version == "2" {
            current.connection?.isMultiplexed = true
            return
        }
        let hasContent = head.allowsBody && request.method != .head && (head.isChunked || head.contentLength != 0)
        // Many servers answer HEAD with a body, which arrives later. Over TLS its bytes cannot be counted.
        let mayHaveMore = request.method == .head || (!hasContent && url.scheme == "https")
        if mayHaveMore || isAuthenticated { closeAfterwards() }
    }

    private func originHead(_ head: ResponseHeadParser.Head) -> OriginHead {
        let isLengthTold = codings(of: head.fields).isEmpty
        let hasBody = head.allowsBody && request.method != .head
        let framing: OriginFraming =
            if !hasBody {
                .noBody
            } else if head.version == "2" {
                .stream
            } else if head.isChunked {
                .chunked
            } else { head.contentLength == nil ? .close : .length }
        return OriginHead(
            status: head.status, fields: head.fields, effectiveURL: url.text,
            declaredLength: !head.allowsBody ? 0 : isLengthTold ? head.contentLength : nil, framing: framing,
            version: head.version, authenticatesConnection: head.fields.authenticatesConnection)
    }

    /// Delivers a head with libcurl's facts about the file, because FTP has no head.
    func answerFTP() -> Bool {
        current.phase = .receiving
        let length = handle?.info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        var fields = HTTPFields()
        fields[.contentLength] = length.map { String($0) }
        if let time = handle?.info(CURLINFO_FILETIME_T) { fields[.lastModified] = Timestamp(seconds: time).httpDate }
        resources.answered.note(self)
        return deliver(
            OriginHead(
                status: 200, fields: fields, effectiveURL: url.text, declaredLength: length, framing: .ftp,
                version: "ftp"))
    }

    private func deliver(_ head: OriginHead) -> Bool {
        if head.framing != .noBody, let length = head.declaredLength, length > request.sizeLimit {
            current.failure = .tooLarge(limit: request.sizeLimit)
            return false
        }
        answer = head
        do {
            try receiver.originDidAnswer(head)
            return true
        } catch {
            current.failure = .receiver(error)
            return false
        }
    }
}

extension Transfer {
    enum Reception {
        case taken
        /// libcurl keeps the piece, and delivers it again when the transfer continues.
        case held
        case failed
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        lastProgress = now
        if isFTP && answer == nil && !answerFTP() { return .failed }
        if bytes.isEmpty { return .taken }
        if current.redirection == nil && control.isPaused {
            isHolding = true
            return .held
        }
        do {
            if current.chunks != nil { return try readChunks(bytes) }
            current.connection?.count(bytes.count)
            try take(bytes)
            return .taken
        } catch _ where current.redirection != nil {
            // The head has the `Location`, so the body is not needed.
        } catch let error as ChunkedFraming.Problem {
            current.failure = .malformedResponse(error.reason)
        } catch let error as ContentCodingError {
            current.failure = .contentCoding(error.reason)
        } catch is ContentDecoding.TooLong {
            current.failure = .tooLarge(limit: request.sizeLimit)
        } catch {
            current.failure = .receiver(error)
        }
        return .failed
    }

    /// The names of the codings to decode, in the order in which they were applied, without the compression of the file
    /// itself. The URL in the request also names the file, even if a redirect leads to another name.
    private func codings(of fields: HTTPFields) -> [String] {
        guard request.decodesContent else { return [] }
        var names = ContentCoding.names(in: fields)
        let file = CompressedFile(urls: [request.url, url.text], fields: fields)
        if let first = names.first, file.isCoded(by: first) { names.removeFirst() }
        return names
    }

    /// If the receiver pauses within a piece, libcurl repeats the piece later, and the bytes already read are skipped.
    private func readChunks(_ piece: UnsafeRawBufferPointer) throws -> Reception {
        var index = current.heldCount
        while let content = try current.chunks!.next(in: piece, from: &index) {
            guard deliverHeldHead() else { return .failed }
            try take(UnsafeRawBufferPointer(rebasing: piece[content]))
            if control.isPaused { break }
        }
        let isComplete = current.chunks!.isComplete
        if isComplete, !deliverHeldHead() { return .failed }
        current.connection?.count(index - current.heldCount)
        guard index < piece.count, !isComplete else {
            current.heldCount = 0
            // libcurl itself also looks for the end of the last chunk, and may find a different end.
            if index < piece.count { closeAfterwards() }
            return .taken
        }
        current.heldCount = index
        isHolding = true
        return .held
    }

    private struct LongRedirect: Error {}

    private func take(_ content: UnsafeRawBufferPointer) throws {
        if current.redirection != nil {
            // Reading a short body lets the connection be reused. Reading a long body costs more than a new connection.
            current.redirectBodyLeft -= content.count
            guard current.redirectBodyLeft >= 0 else { throw LongRedirect() }
            return
        }
        let decoding =
            try decoding ?? ContentDecoding(names: codings(of: answer?.fields ?? [:]), sizeLimit: request.sizeLimit)
        self.decoding = decoding
        try decoding.decode(content) { bytes in
            byteCount += Int64(bytes.count)
            guard byteCount <= request.sizeLimit else { throw ContentDecoding.TooLong() }
            try receiver.originDidSend(bytes)
        }
    }
}

extension ChunkedFraming.Rules {
    /// Limits the chunks, which libcurl delivers unchanged (`CURLOPT_HTTP_TRANSFER_DECODING`).
    static let ofAnswers = ChunkedFraming.Rules(extensionLimit: 8 << 10, trailerLimit: 64 << 10)
}

extension Transfer {
    enum Outcome {
        /// The response is a redirect with these bytes as its `Location`.
        case redirect([UInt8])
        /// The reused connection was unsuitable. The request is sent again over another connection.
        case again
        /// `isEarly`: no byte of a response arrived, and sending the request again cannot have a second effect.
        case failed(OriginError, isEarly: Bool)
        case complete(OriginSummary)
    }

    func outcome(of code: CURLcode) -> Outcome {
        let isRepeatable = request.isRepeatable && request.body?.isUntouched != false
        let isEarly = current.phase == .connecting || (current.phase == .waiting && isRepeatable)
        if current.isUncleanReuse { return .again }
        // The received bytes are no response to this request. Usually they are the rest of the previous response.
        if current.isReuse, !isFTP, !current.hasHead, isRepeatable,
            current.phase == .receiving || code == CURLE_UNSUPPORTED_PROTOCOL
        {
            needsOwnConnection = true
            return .again
        }
        if let failure = current.failure { return .failed(OriginError(failure), isEarly: false) }
        // The head has the `Location`, so an error in the body does not matter.
        if let redirection = current.redirection { return .redirect(redirection) }
        guard code != CURLE_OK else { return complete() }
        if current.isRefusedReuse, !needsOwnConnection {
            // The next try opens a connection, because another address of the host may be allowed.
            needsOwnConnection = true
            return .again
        }
        if let refusal = current.refusal, current.opened.isEmpty {
            let error = OriginError(.addressRefused(rule: refusal))
            return .failed(redirectCount > 0 ? error.afterRedirect : error, isEarly: false)
        }
        let error = OriginError(
            code, words: handle?.errorWords ?? "", isConnecting: current.phase == .connecting,
            isInHead: answer == nil && current.heldHead == nil && !isFTP)
        return .failed(error, isEarly: isEarly)
    }

    private func complete() -> Outcome {
        func failed(_ kind: OriginError.Kind) -> Outcome { .failed(OriginError(kind), isEarly: false) }
        // libcurl delivers no piece of the body for an empty file.
        if isFTP && answer == nil && !answerFTP() { return failed(current.failure ?? .transfer) }
        guard let answer else { return failed(.malformedResponse("the final response is missing")) }
        guard answer.framing != .chunked || current.chunks?.isComplete == true else {
            return failed(.malformedResponse("the body ends before its last chunk"))
        }
        do throws(ContentCodingError) {
            try decoding?.finish()
        } catch {
            return failed(.contentCoding(error.reason))
        }
        return .complete(
            OriginSummary(
                byteCount: byteCount, framing: answer.framing, redirectCount: redirectCount, retryCount: failedTries))
    }

    /// Moves to a redirect's URL: checks it, and keeps only ``harmless`` fields for another origin. libcurl follows no
    /// redirects, so that the client checks each URL with its own errors and delivers only the final response.
    func follow(_ location: [UInt8]) throws(OriginError) {
        guard redirectCount < configuration.maxRedirects else {
            throw OriginError(.tooManyRedirects(limit: configuration.maxRedirects))
        }
        let next = try Result { () throws(OriginURL.Invalid) in try OriginURL(location: location, of: url) }
            .mapError { OriginError(.redirectInvalid($0.reason)) }.get()
        guard configuration.allows(next.scheme) else { throw OriginError(.schemeRefused(next.scheme)) }
        guard !next.host.isEmpty else { throw OriginError(.redirectInvalid("it has no host")) }
        try Result { () throws(OriginError) in try request.check(for: next, policy) }.mapError(\.afterRedirect).get()
        redirectCount += 1
        requestTarget = nil
        if next.origin != url.origin { fields = fields.filter { HTTPFields.harmless.contains($0.name) } }
        url = next
    }
}

extension HTTPFields {
    /// The fields that do not identify the caller. All others, such as an API key, go only to the first origin.
    fileprivate static let harmless: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, HTTPField.Name("Accept-Charset")!, .cacheControl,
        HTTPField.Name("Pragma")!, .userAgent, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
        .ifRange,
    ]
}

extension HTTPFields {
    private static let persistentAuth = HTTPField.Name("Persistent-Auth")!

    /// See ``OriginHead/authenticatesConnection``.
    fileprivate var authenticatesConnection: Bool {
        self[values: .wwwAuthenticate].contains(where: ConnectionCredentials.areNamed) || contains(Self.persistentAuth)
    }
}
