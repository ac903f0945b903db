import HTTPTypes

extension HTTPFields {
    /// The end-to-end fields, which may be forwarded and stored. Removes the fields of a single connection (RFC 9110
    /// §7.6.1): `Connection`, every field that `Connection` names, and the fields known to be hop-by-hop even when
    /// `Connection` does not name them; also the fields between a client and its proxy (RFC 9111 §3.1).
    package func endToEnd() -> HTTPFields {
        // Most messages have none of these. `Connection` is in the list, so without a match no further field is named.
        guard contains(where: { Self.isHopByHop($0.name) }) else { return self }
        // Names of fields, and options such as `close`, in lower case.
        let named = Set(self[values: .connection].lazy.flatMap(FieldScanner.listMembers).map { $0.lowercased() })
        return filter { field in
            !Self.isHopByHop(field.name) && !named.contains(field.name.canonicalName)
        }
    }

    private static func isHopByHop(_ name: HTTPField.Name) -> Bool {
        // Checking the length rules out most names and costs less than hashing them.
        let length = name.canonicalName.utf8.count
        return hopByHopLengths & 1 << length != 0 && hopByHop.contains(name.canonicalName)
    }

    private static let hopByHopLengths = hopByHop.reduce(0 as UInt64) { $0 | 1 << $1.utf8.count }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
}
