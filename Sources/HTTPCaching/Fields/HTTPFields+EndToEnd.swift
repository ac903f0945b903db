import HTTPTypes

extension HTTPFields {
    /// The fields that are for the other end, and so may be forwarded and stored, in their order.
    ///
    /// Left out are those about one connection (RFC 9110 §7.6.1): `Connection`, every field that it names, and the ones
    /// that are known to be such even when it does not; and those between a client and its proxy (RFC 9111 §3.1).
    public func endToEnd() -> HTTPFields {
        // Mostly there is none to leave out. Without Connection none is named.
        guard contains(where: { Self.isHopByHop($0.name) }) else { return self }
        let named = namedByConnection
        return filter { field in
            !Self.isHopByHop(field.name) && !named.contains(field.name.canonicalName)
        }
    }

    /// The connection options in lower case: names of fields, or words such as `close`.
    private var namedByConnection: Set<String> {
        var names: Set<String> = []
        for line in self[values: .connection] {
            for option in FieldScanner.listMembers(line) { names.insert(option.lowercased()) }
        }
        return names
    }

    private static func isHopByHop(_ name: HTTPField.Name) -> Bool {
        // The length alone rules most names out, which costs less than to hash them.
        let length = name.canonicalName.utf8.count
        return hopByHopLengths & 1 << length != 0 && hopByHop.contains(name.canonicalName)
    }

    /// A bit for each length that one of ``hopByHop`` has.
    private static let hopByHopLengths = hopByHop.reduce(0 as UInt64) { $0 | 1 << $1.utf8.count }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
}
