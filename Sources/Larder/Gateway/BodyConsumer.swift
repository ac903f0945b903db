import Primitives

/// Takes a body piece by piece, at its own pace: the face that a client's connection shows to a ``BodyFlow``.
///
/// Calls come one at a time.
public protocol BodyConsumer: AnyObject, Sendable {
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
