import CCurl

/// The HTTP connections of a loop, indexed by their two ends, because libcurl's callbacks report only the ends of a
/// reused connection.
///
/// A closed connection stays in the table until another connection has the same ends, or the table is full. Confined to
/// a single thread of the client.
final class OriginConnections {
    /// The two ends of a connection. Several connections to different addresses can have the same local port.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: Int32
    }

    private var connections: [Ends: OriginConnection] = [:]
    /// The number of connections from which on the table drops closed connections, which are then the majority.
    private static let limit = 4096

    /// Adds the connection that was opened over one of these sockets; returns `nil` when it is closed already.
    func opened(_ descriptors: [curl_socket_t], _ ends: Ends, isSecure: Bool) -> OriginConnection? {
        if connections.count >= Self.limit { connections = connections.filter(\.value.isOpen) }
        let descriptor = descriptors.last { OriginConnection.localPort(of: $0) == ends.localPort }
        let connection = descriptor.map { OriginConnection($0, localPort: ends.localPort, isSecure: isSecure) }
        connections[ends] = connection
        return connection
    }

    /// The connection with these ends; `nil` when the table has none.
    func connection(_ ends: Ends) -> OriginConnection? { connections[ends] }
}
