import CCurl

/// The end of a try.
extension Transfer {
    /// What a try came to.
    enum Outcome {
        /// Where to, byte for byte.
        case redirect([UInt8])
        /// A connection that was there already was not good for the request: once more, on another.
        case again
        /// `isEarly`: no byte of an answer had come, and nothing happens twice when the request is sent again.
        case failed(OriginError, isEarly: Bool)
        case complete(OriginSummary)
    }

    /// What libcurl's result means.
    func outcome(of code: CURLcode) -> Outcome {
        let isRepeatable = request.method.isIdempotent && request.body?.isUntouched != false
        let isEarly = phase == .connecting || (phase == .waiting && isRepeatable)
        if isUncleanReuse { return .again }
        // The bytes that came belong to no answer of this request: the tail of the answer before, as a rule.
        if isReuse, !isFTP, !hasHead, phase == .receiving || code == CURLE_UNSUPPORTED_PROTOCOL, isRepeatable {
            needsOwnConnection = true
            return .again
        }
        if let failure { return .failed(OriginError(failure), isEarly: false) }
        // The head said where to go on; what became of the body does not matter.
        if let redirection { return .redirect(redirection) }
        guard code != CURLE_OK else { return complete() }
        if isRefusedReuse, !needsOwnConnection {
            // The name may have other addresses.
            needsOwnConnection = true
            return .again
        }
        if let refusal, opened.isEmpty {
            let error = OriginError(.addressRefused(rule: refusal))
            return .failed(redirectCount > 0 ? error.afterRedirect : error, isEarly: false)
        }
        let isInHead = answer == nil && heldHead == nil && !isFTP
        let error = OriginError(code, words: handle?.errorWords ?? "", phase: phase, isInHead: isInHead)
        return .failed(error, isEarly: isEarly)
    }

    private func complete() -> Outcome {
        // An empty file brings no piece of a body.
        if isFTP && answer == nil && !answerFTP() {
            return .failed(OriginError(failure ?? .transfer), isEarly: false)
        }
        guard let answer else {
            return .failed(OriginError(.malformedResponse("there is no final response")), isEarly: false)
        }
        guard answer.framing != .chunked || chunks?.isComplete == true else {
            return .failed(OriginError(.malformedResponse("the body ends before its last chunk")), isEarly: false)
        }
        do throws(ContentCodingError) {
            try decoding?.finish()
        } catch {
            return .failed(OriginError(.contentCoding(error.reason)), isEarly: false)
        }
        return .complete(
            OriginSummary(
                byteCount: byteCount, framing: answer.framing, redirectCount: redirectCount, retryCount: failedTries))
    }
}
