/// Why a connection was accepted only to be told that it is one too many.
public enum ConnectionRefusal: String, Sendable, CaseIterable {
    /// There are ``Daemon/Configuration/connectionLimit`` connections already.
    case limit
    /// Its address has ``Daemon/Configuration/connectionLimitPerAddress`` connections already.
    case address
}
