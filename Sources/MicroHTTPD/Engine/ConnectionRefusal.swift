/// The limit because of which a connection was accepted only to be refused.
package enum ConnectionRefusal: String, Sendable, CaseIterable {
    /// There are ``DaemonConfiguration/connectionLimit`` connections already.
    case limit
    /// The client's address has ``DaemonConfiguration/connectionLimitPerAddress`` connections already.
    case address
}
