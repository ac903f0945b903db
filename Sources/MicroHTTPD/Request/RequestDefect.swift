extension Request {
    /// Why a request must be refused, with ``Reception/refuse(_:)``: what follows it on its connection may not be what it
    /// seems, or others could understand it differently.
    public enum Defect: Hashable, Sendable {
        /// With the bookkeeping it takes more than half of ``Daemon/Configuration/connectionMemory``, and there may be no
        /// room left for the head of an answer. A refusal is sent all the same (RFC 6585 §5).
        case headTooLarge
        /// The length of the body could be understood differently by others: several lengths, a length beside a transfer
        /// coding, a coding other than `chunked` (RFC 9112 §6.3).
        case ambiguousLength

        /// The status code that says so.
        public var status: Int {
            switch self {
            case .headTooLarge: 431
            case .ambiguousLength: 400
            }
        }

        /// What is wrong, and what to do about it, for the one who wrote the client.
        public var reason: String {
            switch self {
            case .headTooLarge: "the head of the request is too large; send fewer or shorter fields"
            case .ambiguousLength: "the length of the body is ambiguous; send one Content-Length, or chunked"
            }
        }
    }
}
