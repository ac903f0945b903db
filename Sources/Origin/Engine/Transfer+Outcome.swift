import CCurl

/// The end of a try.
extension Transfer {
    /// The result of a try.
    enum Outcome {
        /// The response redirects to these bytes of a `Location`.
        case redirect([UInt8])
        /// The reused connection was unsuitable for the request; the request is sent again over another connection.
        case again
        /// The try failed. `isEarly`: no byte of a response arrived, and the request can be sent again without a second
        /// effect.
        case failed(OriginError, isEarly: Bool)
        case complete(OriginSummary)
    }

    /// The result of the try, from libcurl's code and the findings of the callbacks.
    func outcome(of code: CURLcode) -> Outcome {
        let isRepeatable = request.method.isIdempotent && request.body?.isUntouched != false
        let isEarly = phase == .connecting || (phase == .waiting && isRepeatable)
        if isUncleanReuse { return .again }
        // The received bytes are not a response to this request; usually they are the rest of the previous response.
        if isReuse, !isFTP, !hasHead, phase == .receiving || code == CURLE_UNSUPPORTED_PROTOCOL, isRepeatable {
            needsOwnConnection = true
            return .again
        }
        if let failure { return .failed(OriginError(failure), isEarly: false) }
        // The head gives the redirect, so a failure of the body does not matter.
        if let redirection { return .redirect(redirection) }
        guard code != CURLE_OK else { return complete() }
        if isRefusedReuse, !needsOwnConnection {
            // The name may have other addresses, so the next try opens a connection.
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
        // libcurl calls back with no piece of a body for an empty file.
        if isFTP && answer == nil && !answerFTP() {
            return .failed(OriginError(failure ?? .transfer), isEarly: false)
        }
        guard let answer else {
            return .failed(OriginError(.malformedResponse("the final response is missing")), isEarly: false)
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
