import Larder
import MicroHTTPD
import Primitives

/// A client's connection takes what comes from an origin.
extension ResponseStream: BodyConsumer {
    /// See ``Larder/BodyConsumer``.
    public func take(_ bytes: SharedBytes) -> ConsumerRoom {
        switch write(bytes) {
        case .room: .room
        case .full: .full
        case .closed: .closed
        }
    }

    /// See ``Larder/BodyConsumer``.
    public func whenRoom(_ action: @escaping @Sendable () -> Void) { onRoom(action) }

    /// See ``Larder/BodyConsumer``.
    public func whenClosed(_ action: @escaping @Sendable () -> Void) { onClose(action) }

    /// See ``Larder/BodyConsumer``.
    public func complete() { finish() }

    /// See ``Larder/BodyConsumer``.
    public func breakOff() { fail() }
}
