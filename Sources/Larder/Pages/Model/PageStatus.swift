import DiskCache
import HTTPTypes
import Primitives

/// A request to capture a page.
package struct PageRequest: Sendable {
    /// The way in which the page is visited.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The best mode that the server has.
        case auto
        /// Follows the references of documents, and runs no scripts.
        case `static`
        /// Runs the page's scripts in a browser.
        case rendered
    }

    package var url: CanonicalURL
    package var mode = Mode.auto
    /// The caller's own document in place of the origin's, in UTF-8; `nil`: the origin's.
    package var document: [UInt8]?
    /// The archive with the page's responses, in place of the origins; `nil`: the origins.
    package var archive: ArchiveFile?
    /// The time for which the page stays fresh; `nil`: the default of the namespace.
    package var ttl: Duration?
    package var tags: Set<String> = []
    /// `nil`: as the page that is replaced.
    package var pinned: Bool?
    /// Whether each view renews the expiry date.
    package var updatesExpiry = false
    /// Fields for the page's own origin, such as Authorization. No record of the capture has them.
    package var fields: HTTPFields = [:]
    /// `NAME=VALUE` for the page's own host. Forgotten with the capture.
    package var cookies: [String] = []
    package var limits = CaptureLimits()
    /// Whether hosts that want a pause are not asked, as with downloads.
    package var obeysPauses = false
    /// The size of the browser's window, in CSS pixels.
    package var viewport = Viewport()
    /// Whether the browser scrolls through the page, so that the page loads all images.
    package var scrolls = true
    /// The most captures that the page keeps; at least 1.
    package var capturesKept = 1
    package var key: CacheKey { .page(canonical: url.string) }

    package struct Viewport: Hashable, Sendable {
        package var width = 1280
        package var height = 900

        package init() {}
    }

    package init(url: CanonicalURL) {
        self.url = url
    }

    /// Whether the origin cannot tell the visit from that of another request.
    func isVisit(of other: PageRequest) -> Bool {
        archive == nil && other.archive == nil && document == other.document && fields == other.fields
            && cookies == other.cookies && mode == other.mode && viewport == other.viewport
    }
}

/// The number of URLs that a capture has found, and the results so far.
package struct CaptureProgress: Hashable, Sendable {
    package var found = 0
    package var captured = 0
    /// The URLs that the capture lacks, with those that the origins refused.
    package var missing = 0
    /// The bytes of the captured bodies.
    package var bytes: Int64 = 0

    package init() {}
}

/// The state of a page's last capture.
package struct PageStatus: Sendable {
    /// The phase of a capture, or its end.
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
    /// The answer in place of the page's document; `nil`: the document has come, or there was no answer.
    package internal(set) var refusal: AnswerWithoutBody?
    package internal(set) var progress = CaptureProgress()

    package var isRunning: Bool { state == .queued || state == .fetching }
}

/// The reason for which a request is refused, or a capture ends without a new page.
package enum PageError: Error, Hashable, Sendable {
    /// The kind of failure of the page's document.
    package enum Failure: Hashable, Sendable {
        /// The address policy refuses the origin.
        case refused
        case timedOut
        case failed
    }

    case schemeRefused(String)
    /// Only a browser can render pages, and the server has none.
    case noBrowser
    /// A capture of the page is running with another document, mode or viewport, or with other fields or cookies.
    case otherVisit
    /// Too many captures run or wait, or wait with too long documents.
    case busy
    /// Too many archives are being received or imported.
    case tooManyArchives(limit: Int)
    /// A cancelled or purged capture of the page has not ended yet.
    case ending
    case stopping
    case cancelled
    /// The page's document could not be fetched, for a reason in words.
    case document(Failure, String)
    /// A purge removed the page during its capture.
    case purged
    /// The new capture lacks more resources than the page's stored one.
    case worse
    /// The archive cannot be read, for a reason in words.
    case archive(String)
    case archiveTooLarge(limit: Int64)
    /// The archive has no HTML document.
    case noPage
    case cache(DiskCacheError)
}

extension PageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .schemeRefused(let scheme): "the scheme \"\(scheme)\" is not allowed"
        case .noBrowser: "this server has no browser; use the mode \"static\" or \"auto\""
        case .otherVisit:
            "a capture of this page is running with other html, headers, cookies, mode, viewport or archive; wait for "
                + "its end, or cancel it with DELETE"
        case .busy: "too many captures are running or waiting; try again later"
        case .tooManyArchives(let limit): "\(limit) archives are being imported, which is the limit; try again later"
        case .ending: "a cancelled capture of this page has not ended yet; try again in a moment"
        case .stopping: "the server is stopping"
        case .cancelled: "the capture was cancelled"
        case .document(_, let reason): "the page could not be fetched: \(reason)"
        case .purged: "the page was purged during its capture"
        case .worse: "resources were missing, so the page keeps its better capture"
        case .archive(let reason): "the archive cannot be read: \(reason)"
        case .archiveTooLarge(let limit): "the archive is larger than \(limit) bytes"
        case .noPage: "the archive has no page; name the URL of one of its responses with ?url="
        case .cache(let error): error.description
        }
    }
}
