import CCurl

extension OriginError {
    /// The error for a try that libcurl ended; `words` is libcurl's error buffer, which may be empty.
    ///
    /// - Parameters:
    ///   - phase: the phase of the try.
    ///   - isInHead: whether the head of the response was still incomplete.
    init(_ code: CURLcode, words: String, phase: Transfer.Phase, isInHead: Bool) {
        if let reason = Self.malformation(code, words: words, isInHead: isInHead && phase != .connecting) {
            self.init(.malformedResponse(reason), code: code)
        } else if code == CURLE_OPERATION_TIMEDOUT {
            self.init(code, words: words, kind: .timedOut(phase == .connecting ? .connecting : .waiting))
        } else {
            self.init(code, words: words)
        }
    }

    /// The fault of a response that libcurl refused; `nil` when the response is not at fault. libcurl's words are used
    /// only where they describe the fault.
    private static func malformation(_ code: CURLcode, words: String, isInHead: Bool) -> String? {
        switch code {
        case CURLE_WEIRD_SERVER_REPLY where !words.isEmpty: words
        // "Received HTTP/0.9 when not allowed"
        case CURLE_UNSUPPORTED_PROTOCOL where isInHead: "it does not begin with an HTTP status line"
        // "Out of memory": libcurl's buffer for a line holds 100 KB.
        case CURLE_OUT_OF_MEMORY where isInHead: "a line of its head is too long"
        // "Too large response headers: 307203 > 307200"
        case CURLE_RECV_ERROR where words.hasPrefix("Too large response headers"): "its head is too long"
        // "A libcurl function was given a bad argument": the first line is folded.
        case CURLE_BAD_FUNCTION_ARGUMENT where isInHead: "a line of its head is not a field"
        // "Out of memory in chunked-encoding": libcurl's buffer for a trailer line holds 4 KB.
        case CURLE_RECV_ERROR where words.hasPrefix("Out of memory in chunked-encoding"): "a trailer is too long"
        // "Reject response due to more than 5 content encodings": libcurl does not decode content codings here, so the
        // fault is a transfer coding.
        case CURLE_BAD_CONTENT_ENCODING: "it has a transfer coding other than chunked"
        default: nil
        }
    }
}

extension OriginError {
    /// Whether the same request may succeed a moment later, provided that no byte of a response arrived.
    var isWorthRetrying: Bool {
        switch kind {
        case .timedOut(.connecting): return true
        case .transfer: break
        default: return false
        }
        return switch CURLcode(rawValue: UInt32(bitPattern: code)) {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
            CURLE_SSL_CONNECT_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            true
        default: false
        }
    }
}
