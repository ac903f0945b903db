import CCurl

/// The reason why a transfer failed.
package struct OriginError: Error, Sendable, CustomStringConvertible {
    /// The associated texts give reasons.
    package enum Kind: Sendable {
        /// The policy allows none of the host's addresses, for example because `::1 is loopback (::1/128)`.
        case addressRefused(rule: String)
        /// The scheme of the URL or of a redirect is not allowed.
        case schemeRefused(String)
        /// The URL cannot be parsed, or has credentials.
        case urlInvalid(String)
        /// Another part of the request cannot be sent, such as its method or its target.
        case requestInvalid(String)
        /// The request's body ended early or did not have its declared length.
        case uploadBroken(String)
        case timedOut(Phase)
        /// The body, or its declared length, exceeds the limit in bytes.
        case tooLarge(limit: Int64)
        case tooManyRedirects(limit: Int)
        /// A redirect leads to a URL that cannot be parsed, or that has credentials.
        case redirectInvalid(String)
        /// ``OriginTransfer/cancel()`` or ``OriginClient/shutDown()`` ended the transfer.
        case cancelled
        /// The head of the response is not valid HTTP, or is ambiguous.
        case malformedResponse(String)
        /// The body cannot be decoded: it is damaged or cut off, or has an unknown content coding.
        case contentCoding(String)
        /// Any other failure that libcurl reports; ``OriginError/code`` and ``OriginError/message`` describe it.
        case transfer
        case receiver(any Error)
    }

    /// The time limit that passed.
    package enum Phase: String, Sendable {
        /// Look-up, connecting and TLS.
        case connecting
        /// The origin sent no byte, before or within its response.
        case waiting, receiving
        /// The limit for the whole transfer, or for the wait in the queue.
        case total, queued

        fileprivate var message: String {
            switch self {
            case .connecting: "connecting took too long"
            case .waiting: "the origin did not answer in time"
            case .receiving: "the origin stopped sending"
            case .total: "the transfer as a whole took too long"
            case .queued: "too many other transfers were running"
            }
        }
    }

    package let kind: Kind
    /// The `CURLcode`. For a failure that the client itself found: libcurl's code for failures of this kind.
    package let code: Int32
    /// libcurl's description of the failure if libcurl found it and describes it well; otherwise the client's.
    package let message: String
    /// Whether the origin has certainly not seen the request, because there was no connection for it. A lost connection
    /// may have carried it.
    package let isBeforeRequest: Bool
    /// For example `Could not resolve host: example.invalid (6)`.
    package var description: String { "\(message) (\(code))" }
}

extension OriginError {
    /// `foundCode` is the code of libcurl, if libcurl found the failure; it replaces the usual code of the kind.
    init(_ kind: Kind, code foundCode: CURLcode? = nil) {
        let (code, message): (CURLcode, String) =
            switch kind {
            case .addressRefused(let rule): (CURLE_COULDNT_CONNECT, "the address is not allowed: \(rule)")
            case .schemeRefused(let scheme): (CURLE_UNSUPPORTED_PROTOCOL, "the scheme \"\(scheme)\" is not allowed")
            case .urlInvalid(let words): (CURLE_URL_MALFORMAT, "the URL is not valid: \(words)")
            case .requestInvalid(let words): (CURLE_BAD_FUNCTION_ARGUMENT, "the request is not valid: \(words)")
            case .uploadBroken(let words): (CURLE_READ_ERROR, "the request's body is not complete: \(words)")
            case .timedOut(let phase): (CURLE_OPERATION_TIMEDOUT, phase.message)
            case .tooLarge(let limit): (CURLE_FILESIZE_EXCEEDED, "the body is longer than the limit of \(limit) bytes")
            case .tooManyRedirects(let limit): (CURLE_TOO_MANY_REDIRECTS, "more than \(limit) redirects")
            case .redirectInvalid(let words): (CURLE_URL_MALFORMAT, "the redirect cannot be followed: \(words)")
            case .cancelled: (CURLE_ABORTED_BY_CALLBACK, "cancelled")
            case .malformedResponse(let words): (CURLE_WEIRD_SERVER_REPLY, "the response is malformed: \(words)")
            case .contentCoding(let words): (CURLE_BAD_CONTENT_ENCODING, "the body cannot be decoded: \(words)")
            case .transfer: (CURLE_RECV_ERROR, "the transfer failed")
            case .receiver(let error): (CURLE_WRITE_ERROR, "\(error)")
            }
        self.init(kind, code: foundCode ?? code, message: message)
    }

    private init(_ kind: Kind, code: CURLcode, message: String, isConnecting: Bool = false) {
        (self.kind, self.code, self.message) = (kind, Int32(code.rawValue), message)
        isBeforeRequest =
            switch kind {
            case .timedOut(.connecting), .timedOut(.queued): true
            default: isConnecting
            }
    }

    /// `words` is libcurl's description, which may be empty. `isInHead`: the head of the response was incomplete.
    init(_ code: CURLcode, words: String, isConnecting: Bool, isInHead: Bool) {
        if let reason = Self.malformation(code, words: words, isInHead: isInHead && !isConnecting) {
            self.init(.malformedResponse(reason), code: code)
        } else {
            self.init(
                code == CURLE_OPERATION_TIMEDOUT ? .timedOut(isConnecting ? .connecting : .waiting) : .transfer,
                code: code, message: words.isEmpty ? String(cString: curl_easy_strerror(code)) : words,
                isConnecting: isConnecting)
        }
    }

    /// The fault of the response; `nil` if it has none. libcurl's words are used only where they describe the fault.
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
        // "Reject response due to more than 5 content encodings": here libcurl decodes only transfer codings.
        case CURLE_BAD_CONTENT_ENCODING: "it has a transfer coding other than chunked"
        default: nil
        }
    }

    /// Whether the same request may succeed a moment later. Applies if no byte of a response has arrived.
    var isWorthRetrying: Bool {
        switch kind {
        case .timedOut(.connecting): true
        case .transfer:
            [
                CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
                CURLE_RECV_ERROR, CURLE_SSL_CONNECT_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
            ].contains(CURLcode(rawValue: UInt32(bitPattern: code)))
        default: false
        }
    }

    /// Whether the client itself has refused the request, which therefore has not reached the origin. The same request
    /// will be refused again.
    package var isRefusal: Bool {
        switch kind {
        case .addressRefused, .schemeRefused, .urlInvalid, .requestInvalid: true
        default: false
        }
    }

    /// The same error. If the address was refused, says that a redirect led to it, because the caller's URL did not.
    var afterRedirect: OriginError {
        guard case .addressRefused(let rule) = kind else { return self }
        return OriginError(.addressRefused(rule: "\(rule), the target of a redirect"))
    }
}
