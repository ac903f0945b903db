import DiskCache
import HTTPTypes
import Primitives

/// A request to capture a page.
package struct PageRequest: Sendable {
    package var url: CanonicalURL
    /// The time for which the page stays fresh; `nil`: the default of the namespace.
    package var ttl: Duration?
    package var tags: Set<String> = []
    /// `nil`: as the page that is replaced.
    package var pinned: Bool?
    /// Fields for the page's own origin, such as Authorization. No record of the capture has them.
    package var fields: HTTPFields = [:]
    /// `NAME=VALUE` for the page's own host. Forgotten with the capture.
    package var cookies: [String] = []
    package var limits = CaptureLimits()
    /// The most captures that the page keeps; at least 1.
    package var capturesKept = 1
    package var key: CacheKey { .page(canonical: url.string) }

    package init(url: CanonicalURL) {
        self.url = url
    }
}

/// The state of a page's last capture.
package struct PageStatus: Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case queued
        case fetching
        case complete
        /// Resources are missing.
        case partial
        case failed
        case cancelled
    }

    package let key: String
    package let url: String
    package internal(set) var state: State
    package let queuedDate: Timestamp
    package internal(set) var endDate: Timestamp?
    /// The reason of a capture that failed, or that did not replace a better one; otherwise `nil`.
    package internal(set) var problem: PageError?

    package var isRunning: Bool { state == .queued || state == .fetching }
}

package enum PageError: Error, Hashable, Sendable {
    case schemeRefused(String)
    /// Too many captures run or wait.
    case busy
    case stopping
    case cancelled
    /// The page's document could not be fetched.
    case document(String)
    /// A purge removed the page during its capture.
    case purged
    /// The new capture lacks resources, and the page already has a complete one.
    case worse
    case cache(DiskCacheError)
}

extension PageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .schemeRefused(let scheme): "the scheme \"\(scheme)\" is not allowed"
        case .busy: "too many captures are running; try again later"
        case .stopping: "the server is stopping"
        case .cancelled: "the capture was cancelled"
        case .document(let reason): "the page could not be fetched: \(reason)"
        case .purged: "the page was purged during its capture"
        case .worse: "resources were missing, so the page keeps its complete capture"
        case .cache(let error): error.description
        }
    }
}
