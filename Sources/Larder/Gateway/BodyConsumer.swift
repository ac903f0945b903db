import Primitives

/// Takes a body piece by piece, at its own pace: the face that a client's connection shows to a ``BodyFlow``.
///
/// Calls come one at a time.
public protocol BodyConsumer: AnyObject, Sendable {
    /// How many bytes it takes before it is full; at least 1. What is read for it alone is no more at once.
    var room: Int { get }
    /// Takes the next bytes, and says whether more may come; see ``Primitives/Backpressure``.
    func write(_ bytes: SharedBytes) -> Backpressure
    /// Calls `action` once, when there is room again or nobody wants more; at once when that is so already.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when nobody wants more bytes; at once when that is so already.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// That was all.
    func finish()
    /// There will be no more, and the body is not whole: whoever receives it must see that.
    func fail()
}

extension BodyConsumer {
    /// Any number, for consumers that do not say.
    public var room: Int { .max }
}
