import Primitives

/// The request fields that a definition may add, and the reasons against the others.
enum RequestHeaders {
    /// The reason for which a definition must not set the field, with the remedy if there is one; `nil` for a permitted
    /// field. `name` is in lower case.
    static func objection(to name: String) -> String? {
        if let reason = reasons[name] { return reason }
        return name.hasPrefix("if-") ? conditional : nil
    }

    private static let credential = "a definition is shown to callers; store the credential, and name it in credential"
    private static let conditional = "a refresh adds the conditions that fit the held copy (RFC 9110 §13.1)"
    private static let connection = "the field concerns the connection, which all requests share (RFC 9110 §7.6.1)"
    private static let body = "the requests have no body (RFC 9110 §8.6 and §10.1.1)"

    private static let reasons: [String: String] = [
        "authorization": credential, "cookie": credential, "proxy-authorization": credential,
        "range": "a subscription holds whole bodies (RFC 9110 §14.2)",
        "host": "the field follows from the URL (RFC 9110 §7.2)",
        "accept-encoding": "the client offers the codings that it can decode (RFC 9110 §12.5.3)",
        "connection": connection, "keep-alive": connection, "proxy-connection": connection, "te": connection,
        "trailer": connection, "transfer-encoding": connection, "upgrade": connection,
        "content-length": body, "expect": body,
    ]

    /// RFC 9110 §5.6.2, in lower case.
    static func isToken(_ text: String) -> Bool {
        !text.utf8.isEmpty
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0.isDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// RFC 9110 §5.5, without spaces around the value.
    static func isValue(_ text: String) -> Bool {
        text.utf8.count <= 4096 && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            && text.utf8.first != 0x20 && text.utf8.last != 0x20
    }
}
