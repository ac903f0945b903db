import HTTPTypes

/// Larder's handling of a request, as reported to the client (RFC 9211), such as `larder; hit; ttl=545` or
/// `larder; fwd=stale; fwd-status=304; stored; ttl=60`.
package struct CacheStatus: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// The request did not go forward (§2.1).
        case hit
        /// The request went forward (§2.2).
        case forwarded(ForwardReason)
        /// No stored response was acceptable, and the request was not allowed to go forward.
        case refused
    }

    package var source: Source
    /// The origin's status when it differs from the status of this answer; otherwise `nil` (§2.3).
    package var forwardStatus: Int?
    /// The time until the answer becomes stale; negative when it is stale, `nil` to omit it (§2.4).
    package var ttl: Duration?
    package var isStored = false
    /// `true`: the request waited and got another request's answer; `false`: it waited in vain; `nil`: no wait (§2.6).
    package var isCollapsed: Bool?
    /// The key of the stored answer; `nil` to omit it (§2.7).
    package var key: String?
    /// A remark in Larder's own words; `nil` to omit it (§2.8).
    package var detail: String?

    package init(_ source: Source) {
        self.source = source
    }

    /// A hit omits the parameters that only apply to a forwarded request.
    package var text: String {
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

    /// Appends this member behind those of the caches nearer to the origin (§2).
    package func append(to fields: inout HTTPFields) {
        fields.append(HTTPField(name: .cacheStatus, value: text))
    }

    /// Rounds down, so that an answer that has been stale for less than a second does not look fresh.
    private static func wholeSeconds(_ duration: Duration) -> Int64 {
        let (seconds, rest) = duration.components
        let floor = rest < 0 ? seconds - 1 : seconds
        // RFC 8941 §3.3.1: an integer has at most 15 digits.
        return max(-999_999_999_999_999, min(floor, 999_999_999_999_999))
    }

    /// A string of RFC 8941 §3.3.3 holds visible ASCII and spaces, so any other byte is percent-encoded.
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

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20...0x7E ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Whether the text is a token of both RFC 8941 §3.3.4 and RFC 9110 §5.6.2.
    private static func isToken(_ text: String) -> Bool {
        var scanner = FieldScanner(text)
        guard let first = text.utf8.first, scanner.token() != nil, scanner.isAtEnd else { return false }
        return first == UInt8(ascii: "*") || Unicode.Scalar(first).properties.isAlphabetic
    }
}

extension HTTPField.Name {
    package static let cacheStatus = Self("Cache-Status")!
}
