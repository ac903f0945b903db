/// The limit because of which a connection was accepted only to be refused.
package enum ConnectionRefusal: String, Sendable, CaseIterable {
    /// There are ``Daemon/Configuration/connectionLimit`` connections already.
    case limit
    /// The client's address has ``Daemon/Configuration/connectionLimitPerAddress`` connections already.
    case address
}
