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
