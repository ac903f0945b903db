import HTTPTypes

/// What Larder did about a request, as it tells the client (RFC 9211).
///
/// ```
/// Cache-Status: larder; hit; ttl=545
/// Cache-Status: larder; fwd=stale; fwd-status=304; stored; ttl=60
/// ```
public struct CacheStatus: Hashable, Sendable {
    /// Where the answer came from.
    public enum Source: Hashable, Sendable {
        /// From the cache; the request did not go forward (§2.1).
        case hit
        /// The request went towards the origin, for a reason (§2.2).
        case forwarded(ForwardReason)
        /// From Larder itself: neither was there anything that the request accepts, nor might it go forward.
        case refused
    }

    /// Where the answer came from.
    public var source: Source
    /// The status with which the origin answered, when it is not that of the answer; `nil` otherwise (§2.3).
    public var forwardStatus: Int?
    /// For how long the answer stays fresh; negative when it is stale, `nil` when nothing is to be said (§2.4).
    public var ttl: Duration?
    /// Whether the origin's answer was stored (§2.5).
    public var isStored = false
    /// Whether the request waited for another's answer: `true` when it got that, `false` when it had to go forward
    /// itself all the same, `nil` when it did not wait (§2.6).
    public var isCollapsed: Bool?
    /// The key under which the answer is stored; `nil` when nothing is to be said (§2.7).
    public var key: String?
    /// Anything else, in Larder's own words (§2.8).
    public var detail: String?

    /// A status that tells where the answer came from and no more.
    public init(_ source: Source) {
        self.source = source
    }

    /// The member that stands for Larder in the list of caches. What only makes sense of a request that went forward is
    /// left out of a hit.
    public var text: String {
        var text = "larder"
        text.reserveCapacity(128)
        switch source {
        case .refused:
            break
        case .hit:
            text += "; hit"
        case .forwarded(let reason):
            text += "; fwd="
            text += reason.rawValue
            if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
            if isStored { text += "; stored" }
            if let isCollapsed { text += isCollapsed ? "; collapsed" : "; collapsed=?0" }
        }
        if let ttl {
            text += "; ttl="
            text += String(Self.wholeSeconds(ttl))
        }
        if let key {
            text += "; key="
            Self.append(string: key, to: &text)
        }
        if let detail {
            text += "; detail="
            if Self.isToken(detail) { text += detail } else { Self.append(string: detail, to: &text) }
        }
        return text
    }

    /// Adds Larder behind the caches that are nearer to the origin (§2).
    public func append(to fields: inout HTTPFields) {
        fields.append(HTTPField(name: .cacheStatus, value: text))
    }

    /// Rounded down, so that what has been stale for less than a second is not taken for fresh.
    private static func wholeSeconds(_ duration: Duration) -> Int64 {
        let (seconds, rest) = duration.components
        let floor = rest < 0 ? seconds - 1 : seconds
        // RFC 8941 §3.3.1: an integer has at most 15 digits.
        return max(-999_999_999_999_999, min(floor, 999_999_999_999_999))
    }

    /// A string of RFC 8941 §3.3.3, which holds visible ASCII and spaces: any other byte is percent-encoded.
    private static func append(string: String, to text: inout String) {
        text += "\""
        if string.utf8.allSatisfy(isPlain) {
            text += string
        } else {
            for byte in string.utf8 {
                if isPlain(byte) {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    text += "\\\(Unicode.Scalar(byte))"
                } else {
                    text += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
                }
            }
        }
        text += "\""
    }

    /// Whether a byte stands for itself in a string.
    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20...0x7E ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Whether it is a token of RFC 8941 §3.3.4 as well as one of RFC 9110 §5.6.2.
    private static func isToken(_ text: String) -> Bool {
        var scanner = FieldScanner(text)
        guard let first = text.utf8.first, scanner.token() != nil, scanner.isAtEnd else { return false }
        return first == UInt8(ascii: "*") || Unicode.Scalar(first).properties.isAlphabetic
    }
}

extension HTTPField.Name {
    /// `Cache-Status` (RFC 9211).
    public static let cacheStatus = Self("Cache-Status")!
}
