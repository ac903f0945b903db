import Primitives

/// An event in the window, with the id by which a listener names its position.
package final class PublishedEvent: Sendable {
    package let id: EventID
    package let event: Event
    private let made = Locked<SharedBytes?>(nil)

    init(_ event: Event, id: EventID) {
        self.event = event
        self.id = id
    }

    /// The event in the form that listeners read. The first call makes the bytes; all listeners share them.
    package func bytes(_ make: (PublishedEvent) -> SharedBytes) -> SharedBytes {
        if let bytes = made.withLock({ $0 }) { return bytes }
        let bytes = make(self)
        made.withLock { $0 = bytes }
        return bytes
    }
}
