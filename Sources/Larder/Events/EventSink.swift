import Primitives

/// Takes events for one listener, at its own pace. Calls come one at a time.
public protocol EventSink: AnyObject, Sendable {
    /// Takes the next events, at least one, and says whether more may come; see ``Primitives/Backpressure``.
    func write(_ events: [PublishedEvent]) -> Backpressure
    /// Says that it goes on, and that all was told up to an event: whoever comes back says this id.
    func mark(_ id: EventID)
    /// Calls `action` once, when there is room again or nobody listens any more; at once when that is so already.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when nobody listens any more; at once when that is so already.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// There will be no more; what was written is still to be read.
    func finish()
    /// There will be no more, and nobody waits for the listener to read what was written.
    func abort()
}
