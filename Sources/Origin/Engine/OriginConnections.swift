import CCurl

/// The HTTP connections of one loop, found by their two ends: libcurl's callbacks tell no more of a connection that is
/// used again.
///
/// A connection that was closed stays in here until another has the same ends. Confined to one of the client's threads.
final class OriginConnections {
    /// The two ends of a connection. A local port alone may be that of several, to different places.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: Int32
    }

    private var connections: [Ends: OriginConnection] = [:]
    /// When there are so many, most are closed.
    private static let limit = 4096

    /// A connection was opened over one of these sockets; `nil` when it is closed already.
    func opened(_ descriptors: [curl_socket_t], _ ends: Ends, isSecure: Bool) -> OriginConnection? {
        if connections.count >= Self.limit { connections = connections.filter(\.value.isOpen) }
        let descriptor = descriptors.last { OriginConnection.localPort(of: $0) == ends.localPort }
        let connection = descriptor.map { OriginConnection($0, localPort: ends.localPort, isSecure: isSecure) }
        connections[ends] = connection
        return connection
    }

    /// The connection with these ends; `nil` when it is not known.
    func connection(_ ends: Ends) -> OriginConnection? { connections[ends] }
}
