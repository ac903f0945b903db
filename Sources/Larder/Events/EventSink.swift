import Primitives

/// Receives the events for a listener and forwards them at the listener's pace. The hub never makes two calls at once.
package protocol EventSink: AnyObject, Sendable {
    /// Accepts the next events, at least one.
    func write(_ events: [PublishedEvent]) -> Backpressure
    /// Sends a heartbeat with the id of the last event that was delivered or skipped. A listener that reconnects sends
    /// this id.
    func mark(_ id: EventID)
    /// Calls `action` once, when there is room again or the listener has gone; at once when that is the case already.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when the listener has gone; at once when the listener has gone already.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// Ends the stream. The listener may still read the events that were written.
    func finish()
    /// Ends the stream without waiting for the listener to read the events that were written.
    func abort()
}
