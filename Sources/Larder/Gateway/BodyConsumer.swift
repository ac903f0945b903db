import Primitives

/// Takes a body piece by piece, at its own pace. A client's connection appears to a ``BodyFlow`` as a consumer.
///
/// The flow makes one call at a time.
package protocol BodyConsumer: AnyObject, Sendable {
    /// The number of bytes that the consumer takes before it is full; at least 1. A read for this consumer alone is
    /// never larger.
    var room: Int { get }
    /// Takes the next bytes, and tells whether more may follow; see ``Primitives/Backpressure``.
    func write(_ bytes: SharedBytes) -> Backpressure
    /// Calls `action` once, when there is room again or the client wants no more bytes; at once if that is already so.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when the client wants no more bytes; at once if that is already so.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// Ends the body: all bytes were written.
    func finish()
    /// Ends the body before it is whole. The receiver must be able to notice that.
    func fail()
}

extension BodyConsumer {
    /// No limit, for consumers without a room of their own.
    package var room: Int { .max }
}
