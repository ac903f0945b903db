import Primitives

/// The hours of each day, in UTC, in which no scheduled request begins: `22:00-06:30`. A refresh that they interrupt
/// goes on after them.
package struct QuietHours: Hashable, Sendable {
    /// Minutes after midnight.
    package let start: Int
    package let end: Int

    /// `nil` for other text, and for two equal times.
    package init?(_ text: String) {
        func minutes(_ text: Substring) -> Int? {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard text.utf8.count == 5, parts.count == 2, parts[0].utf8.count == 2,
                parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
                let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
            else { return nil }
            return hours * 60 + minutes
        }
        let times = text.split(separator: "-", omittingEmptySubsequences: false)
        guard times.count == 2, let start = minutes(times[0]), let end = minutes(times[1]), start != end else {
            return nil
        }
        self.start = start
        self.end = end
    }

    package var text: String {
        func time(_ minutes: Int) -> String {
            let (hours, rest) = minutes.quotientAndRemainder(dividingBy: 60)
            return (hours < 10 ? "0" : "") + "\(hours):" + (rest < 10 ? "0" : "") + "\(rest)"
        }
        return time(start) + "-" + time(end)
    }

    /// `date`, or the end of the quiet hours in which it lies.
    package func next(from date: Timestamp) -> Timestamp {
        let day: Int64 = 86_400_000
        let time = ((date.milliseconds % day) + day) % day
        let (start, end) = (Int64(start) * 60_000, Int64(end) * 60_000)
        let isQuiet = start < end ? (start..<end).contains(time) : time >= start || time < end
        guard isQuiet else { return date }
        let rest = end > time ? end - time : end - time + day
        return date + .milliseconds(rest)
    }
}
