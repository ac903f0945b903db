import Primitives

/// The time between two refreshes: fixed, or between two bounds by how often the resource changes.
package enum RefreshInterval: Hashable, Sendable {
    case fixed(Duration)
    case adaptive(min: Duration, max: Duration)

    package var shortest: Duration {
        switch self {
        case .fixed(let interval): interval
        case .adaptive(let shortest, _): shortest
        }
    }

    package var longest: Duration {
        switch self {
        case .fixed(let interval): interval
        case .adaptive(_, let longest): longest
        }
    }

    var isFixed: Bool {
        if case .fixed = self { true } else { false }
    }

    /// The part of an origin's wish for no further request that counts. `isFailure`: the wish is a `Retry-After`, which
    /// holds for each interval. Otherwise it is a max-age or the ttl of an RSS feed: a fixed interval disregards this,
    /// and an adaptive interval never ends before it, but at most a day or its own maximum counts.
    package func wish(_ time: Duration, isFailure: Bool) -> Duration {
        if isFailure { return time }
        guard case .adaptive(_, let longest) = self else { return .zero }
        return min(time, max(longest, .seconds(86_400)))
    }

    /// The interval after an answer. `least`: the time for which the origin itself wants no further request, such as
    /// its max-age, the ttl of an RSS feed, or `Retry-After`; see ``wish(_:isFailure:)``.
    ///
    /// - Parameters:
    ///   - last: the interval before; `nil` for the first answer.
    ///   - isChanged: whether the answer had another body. `nil`: it had none, as after a failure.
    package func next(after last: Duration?, isChanged: Bool?, least: Duration = .zero) -> Duration {
        let least = wish(least, isFailure: isChanged == nil)
        guard case .adaptive(let shortest, let longest) = self else { return max(shortest, least) }
        let last = min(max(last ?? shortest, shortest), longest)
        let next =
            switch isChanged {
            case true?: max(last / 2, shortest)
            case false?: min(last * 3 / 2, longest)
            case nil: last
            }
        return max(next, least)
    }

    /// The part of an interval after its beginning at which a URL is refreshed, so that refreshes spread by themselves.
    /// The same URL always has the same phase.
    package static func phase(of url: String, in interval: Duration) -> Duration {
        let milliseconds = interval.milliseconds
        guard milliseconds > 0 else { return .zero }
        // FNV-1a, because the hashes of Swift differ at each start.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in url.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        // The low bits of short texts are not evenly distributed.
        hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
        return .milliseconds(Int64((hash ^ hash >> 33) % UInt64(milliseconds)))
    }
}

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
