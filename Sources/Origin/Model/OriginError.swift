import CCurl

/// The reason why a transfer failed.
package struct OriginError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The address policy allows none of the host's addresses; `rule` is the reason, such as `127.0.0.1 is loopback
        /// (127.0.0.0/8)`.
        case addressRefused(rule: String)
        /// The scheme of the URL or of a redirect is not allowed.
        case schemeRefused(String)
        /// The URL cannot be parsed, or has credentials; the text gives the reason.
        case urlInvalid(String)
        /// Another part of the request cannot be sent, such as its method or its target; the text gives the reason.
        case requestInvalid(String)
        /// The request's body ended early or did not have its declared length; the text gives the reason.
        case uploadBroken(String)
        /// A time limit passed.
        case timedOut(Phase)
        /// The body exceeds the limit in bytes, or declares a length above it.
        case tooLarge(limit: Int64)
        /// The transfer needs more redirects than the limit.
        case tooManyRedirects(limit: Int)
        /// A redirect leads to a URL that cannot be parsed, or that has credentials; the text gives the reason.
        case redirectInvalid(String)
        /// ``OriginTransfer/cancel()`` or ``OriginClient/shutDown()`` ended the transfer.
        case cancelled
        /// The head of the response is not valid HTTP, or is ambiguous; the text gives the reason.
        case malformedResponse(String)
        /// The body cannot be decoded: it is damaged or cut off, or has an unknown content coding; the text gives the
        /// reason.
        case contentCoding(String)
        /// Any other failure that libcurl reports; see ``code`` and ``message``.
        case transfer
        /// The receiver threw this error.
        case receiver(any Error)
    }

    /// The time limit that passed.
    package enum Phase: String, Sendable {
        /// The limit for look-up, connecting and TLS.
        case connecting
        /// The limit for an origin that sends no byte before its response.
        case waiting
        /// The limit for an origin that sends no byte within its response.
        case receiving
        /// The limit for the whole transfer.
        case total
        /// The limit for the wait in the queue.
        case queued
    }

    package let kind: Kind
    /// The `CURLcode`. For a failure that the client found itself: the code that libcurl has for such a failure.
    package let code: Int32
    /// A description of the failure, in libcurl's words where libcurl found the failure and describes it well.
    package let message: String

    /// The message and the code: `Could not resolve host: example.invalid (6)`.
    package var description: String { "\(message) (\(code))" }

    /// An error that libcurl reported; `words` is libcurl's error buffer, which may be empty.
    init(_ code: CURLcode, words: String, kind: Kind = .transfer) {
        self.kind = kind
        self.code = Int32(code.rawValue)
        message = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    }

    /// An error with the description of its kind. `code` replaces the usual code of the kind, when libcurl found the
    /// failure but describes it badly.
    init(_ kind: Kind, code foundCode: CURLcode? = nil) {
        self.kind = kind
        let (code, message): (CURLcode, String)
        switch kind {
        case .addressRefused(let rule): (code, message) = (CURLE_COULDNT_CONNECT, "the address is not allowed: \(rule)")
        case .schemeRefused(let scheme):
            (code, message) = (CURLE_UNSUPPORTED_PROTOCOL, "the scheme \"\(scheme)\" is not allowed")
        case .urlInvalid(let words): (code, message) = (CURLE_URL_MALFORMAT, "the URL is not valid: \(words)")
        case .requestInvalid(let words):
            (code, message) = (CURLE_BAD_FUNCTION_ARGUMENT, "the request is not valid: \(words)")
        case .uploadBroken(let words):
            (code, message) = (CURLE_READ_ERROR, "the request's body is not complete: \(words)")
        case .timedOut(let phase): (code, message) = (CURLE_OPERATION_TIMEDOUT, phase.message)
        case .tooLarge(let limit):
            (code, message) = (CURLE_FILESIZE_EXCEEDED, "the body is longer than the limit of \(limit) bytes")
        case .tooManyRedirects(let limit):
            (code, message) = (CURLE_TOO_MANY_REDIRECTS, "more than \(limit) redirects")
        case .redirectInvalid(let words):
            (code, message) = (CURLE_URL_MALFORMAT, "the redirect cannot be followed: \(words)")
        case .cancelled: (code, message) = (CURLE_ABORTED_BY_CALLBACK, "cancelled")
        case .malformedResponse(let words):
            (code, message) = (CURLE_WEIRD_SERVER_REPLY, "the response is malformed: \(words)")
        case .contentCoding(let words):
            (code, message) = (CURLE_BAD_CONTENT_ENCODING, "the body cannot be decoded: \(words)")
        case .transfer: (code, message) = (CURLE_RECV_ERROR, "the transfer failed")
        case .receiver(let error): (code, message) = (CURLE_WRITE_ERROR, "\(error)")
        }
        self.code = Int32((foundCode ?? code).rawValue)
        self.message = message
    }
}

extension OriginError.Phase {
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
