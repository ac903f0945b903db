import Dispatch

/// Calls a closure at a date of a wall clock. Each new date replaces the one before.
///
/// `@unchecked Sendable` is safe because the state is accessed only on the queue of the owner.
package final class WallClockAlarm: @unchecked Sendable {
    /// The longest time until the wall clock is looked at again, because it may have been set.
    private static let longestPause: Duration = .seconds(60)

    private let queue: DispatchQueue
    private let clock: any WallClock
    /// The number of the last timer. Earlier timers have no effect.
    private var number: UInt64 = 0

    /// - Parameter queue: the serial queue of the owner, on which ``set(_:ring:)`` is called.
    package init(_ clock: any WallClock, queue: DispatchQueue) {
        self.clock = clock
        self.queue = queue
    }

    /// Calls `ring` on the queue at `date`, or after a minute at the latest, so `ring` compares the date with the clock
    /// and sets the alarm again. `nil` ends the alarm.
    package func set(_ date: Timestamp?, ring: @escaping @Sendable () -> Void) {
        number += 1
        guard let date else { return }
        let current = number
        let pause = min(max(date - clock.now(), .zero) + .milliseconds(1), Self.longestPause)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in
            guard let self, number == current else { return }
            ring()
        }
    }
}
