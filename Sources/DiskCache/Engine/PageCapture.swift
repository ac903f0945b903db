import Primitives

/// A running capture of a page: the resources that it has stored, and the page that it will publish. Dropping the last
/// reference abandons it; then its resources go, unless other captures use them.
///
/// ```swift
/// cache.beginCapture(of: url) { result in
///     let capture = try result.get()
///     let image = capture.reserveResource()      // receive, then publish: the entry's digest names the body
///     …                                          // capture.reservation receives the page's list of captures
///     capture.publish(EntryMetadata(ttl: .seconds(60)), keepingCaptures: 1) { … }
/// }
/// ```
package final class PageCapture: Sendable {
    /// Grows with each capture in the namespace; no capture gets a number twice.
    package var number: Int64 { bodies.number }
    /// Receives the body of the page's entry. Purges of the page's URL or tags match it while the capture runs.
    package let reservation: Reservation
    private let bodies: CaptureBodies

    init(_ bodies: CaptureBodies, _ reservation: Reservation) {
        self.bodies = bodies
        self.reservation = reservation
    }

    deinit { abandon() }

    /// Begins to receive a body that this capture uses. The entry that the publish returns has the digest, by which
    /// ``DiskCache/resource(_:mayWait:)`` finds the body.
    package func reserveResource() -> Reservation { bodies.reserve() }

    /// See ``Reservation/publish(_:expectedLength:keepingCaptures:condition:completion:)``. Keeps the capture until the
    /// page is published.
    package func publish(
        _ metadata: EntryMetadata, keepingCaptures limit: Int, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping Completion<PublishOutcome>
    ) {
        reservation.publish(metadata, keepingCaptures: limit, condition: condition) { [self] result in
            withExtendedLifetime(self) { completion(result) }
        }
    }

    /// Discards the capture, and gives its room back in the background. No effect after the page was published.
    package func abandon() {
        reservation.abandon()
        bodies.abandon()
    }
}
