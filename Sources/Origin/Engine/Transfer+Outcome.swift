import CCurl
import HTTPTypes

extension Transfer {
    /// The result of a try.
    enum Outcome {
        /// The response redirects to these bytes of a `Location`.
        case redirect([UInt8])
        /// The reused connection was unsuitable; the request is sent again over another connection.
        case again
        /// `isEarly`: no byte of a response arrived, and the request can be sent again without a second effect.
        case failed(OriginError, isEarly: Bool)
        case complete(OriginSummary)
    }

    func outcome(of code: CURLcode) -> Outcome {
        let isRepeatable = request.isIdempotent && request.body?.isUntouched != false
        let isEarly = current.phase == .connecting || (current.phase == .waiting && isRepeatable)
        if current.isUncleanReuse { return .again }
        // The received bytes are not a response to this request; usually they are the rest of the previous response.
        if current.isReuse, !isFTP, !current.hasHead, isRepeatable,
            current.phase == .receiving || code == CURLE_UNSUPPORTED_PROTOCOL
        {
            needsOwnConnection = true
            return .again
        }
        if let failure = current.failure { return .failed(OriginError(failure), isEarly: false) }
        // The head gives the redirect, so a failure of the body does not matter.
        if let redirection = current.redirection { return .redirect(redirection) }
        guard code != CURLE_OK else { return complete() }
        if current.isRefusedReuse, !needsOwnConnection {
            // The host may have other addresses, so the next try opens a connection.
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
        // For an empty file, libcurl does not call back with a piece of the body.
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

    /// Moves to the next hop: checks its URL, and keeps only ``harmless`` fields for another origin. libcurl follows no
    /// redirects, so that the client checks each hop with its own errors, and delivers only the final response.
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
    /// The fields that do not identify the caller; an unknown field, such as an API key, is only for the first origin.
    fileprivate static let harmless: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, HTTPField.Name("Accept-Charset")!, .cacheControl,
        HTTPField.Name("Pragma")!, .userAgent, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
        .ifRange,
    ]
}
