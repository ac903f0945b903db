/// The limits of a subscription for each host.
package struct PacingLimits: Hashable, Sendable {
    /// The most requests at the same time.
    package var concurrency = 1
    /// The shortest time between the beginnings of two requests.
    package var gap: Duration = .seconds(1)

    package init(concurrency: Int = 1, gap: Duration = .seconds(1)) {
        self.concurrency = concurrency
        self.gap = gap
    }
}
