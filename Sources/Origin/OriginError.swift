import CCurl

/// Why a transfer failed.
public struct OriginError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it was.
    public enum Kind: Sendable {
        /// The address policy let none of the host's addresses through; the rule that refused, such as
        /// `127.0.0.1 is loopback (127.0.0.0/8)`.
        case addressRefused(rule: String)
        /// The URL, or a redirect's, has a scheme that is not allowed.
        case schemeRefused(String)
        /// The URL cannot be parsed, or has credentials; in words.
        case urlInvalid(String)
        /// Something else of the request cannot be sent: its method, or its target; in words.
        case requestInvalid(String)
        /// The request's body broke off, or was not as long as declared; in words.
        case uploadBroken(String)
        /// A time limit passed.
        case timedOut(Phase)
        /// The body is, or says that it is, longer than the limit, in bytes.
        case tooLarge(limit: Int64)
        /// There were more redirects than the limit.
        case tooManyRedirects(limit: Int)
        /// A redirect goes to what cannot be parsed, or has credentials; in words.
        case redirectInvalid(String)
        /// By ``OriginTransfer/cancel()``, or by ``OriginClient/shutDown()``.
        case cancelled
        /// The answer's head is no HTTP, or ambiguous; in words.
        case malformedResponse(String)
        /// The body cannot be decoded: damaged, cut, or in a content coding that is not known; in words.
        case contentCoding(String)
        /// Anything else that libcurl reports: see the code and the message.
        case transfer
        /// What the receiver threw.
        case receiver(any Error)
    }

    /// Which time limit passed.
    public enum Phase: String, Sendable {
        /// Look-up, connecting and TLS.
        case connecting
        /// The origin sent nothing for too long before its answer.
        case waiting
        /// The origin sent nothing for too long within its answer.
        case receiving
        /// The limit of the transfer as a whole.
        case total
        /// Its turn did not come.
        case queued
    }

    /// What kind of trouble it was.
    public let kind: Kind
    /// The `CURLcode`; of what was found here, the one that libcurl has for such a thing.
    public let code: Int32
    /// What happened, in libcurl's words where it was libcurl that found it and its words say it.
    public let message: String

    /// The message and the code: `Could not resolve host: example.invalid (6)`.
    public var description: String { "\(message) (\(code))" }

    /// What libcurl reported; `words` is its error buffer, which may be empty.
    init(_ code: CURLcode, words: String, kind: Kind = .transfer) {
        self.kind = kind
        self.code = Int32(code.rawValue)
        message = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    }

    /// What was found here; with a `code` of libcurl's, what it found and has no good words for.
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
        case .queued: "too many other transfers were under way"
        }
    }
}
