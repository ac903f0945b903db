import HTTPTypes

/// A `GET` to an origin.
public struct OriginRequest: Sendable {
    /// An absolute URL, which is sent byte for byte as it is (but for its fragment, which no request has).
    public var url: String
    /// Fields to send beside those that every request has (`Host`, `User-Agent`, `Accept`, and `Accept-Encoding` with
    /// ``decodesContent``); one of the same name takes the other's place. None by default.
    ///
    /// A redirect to another scheme, host or port gets only those that say nothing about who asks: `Accept` and its
    /// kin, `Cache-Control`, `Pragma`, `User-Agent`, `Range` and the conditional ones (RFC 9110 §15.4).
    public var fields: HTTPFields = [:]
    /// The most bytes a body may have, counted as they are delivered (decoded); no limit by default. Of several content
    /// codings none may give more, either.
    public var sizeLimit = Int64.max
    /// Whether content codings are asked for (gzip, br, zstd) and undone (these, and deflate; at most five, one over the
    /// other); `true` by default. A body that cannot be decoded to its end fails with
    /// ``OriginError/Kind/contentCoding(_:)``; one without a byte is empty, whatever its `Content-Encoding`. With
    /// `false` nothing is asked for, and the body is delivered as it was sent.
    public var decodesContent = true
    /// Whether 301, 302, 303, 307 and 308 with a `Location` are followed; `true` by default. Otherwise they are answers
    /// like any other.
    public var followsRedirects = true

    /// A request for `url`, otherwise with the defaults.
    public init(url: String) {
        self.url = url
    }
}

/// A transfer that was started. It goes on when nobody holds this any more.
public final class OriginTransfer: Sendable {
    private let inbox: Inbox
    let id: UInt64

    init(id: UInt64, inbox: Inbox) {
        self.id = id
        self.inbox = inbox
    }

    /// Ends the transfer soon, with ``OriginError/Kind/cancelled``; no effect once it has ended. From any thread; bytes
    /// may still be delivered until the receiver is told of the end.
    public func cancel() {
        inbox.append(.cancel(id))
    }
}
