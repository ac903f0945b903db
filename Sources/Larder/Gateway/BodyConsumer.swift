import Primitives

/// Takes a body piece by piece, at its own pace: the face that a client's connection shows to a ``BodyFlow``.
///
/// Calls come one at a time.
public protocol BodyConsumer: AnyObject, Sendable {
    /// Takes the next bytes, and says whether more may come; see ``ConsumerRoom``.
    func take(_ bytes: SharedBytes) -> ConsumerRoom
    /// Calls `action` once, when there is room again or nobody wants more; at once when that is so already.
    func whenRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when nobody wants more bytes; at once when that is so already.
    func whenClosed(_ action: @escaping @Sendable () -> Void)
    /// That was all.
    func complete()
    /// There will be no more, and the body is not whole: whoever receives it must see that.
    func breakOff()
}

/// What a ``BodyConsumer`` says to the bytes it got.
public enum ConsumerRoom: Sendable {
    /// More, please.
    case room
    /// It took the bytes, and no more should come before ``BodyConsumer/whenRoom(_:)`` calls back.
    case full
    /// Nobody wants more bytes.
    case closed
}
