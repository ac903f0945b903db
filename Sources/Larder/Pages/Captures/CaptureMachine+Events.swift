import WebArchive

/// The events and the actions of a capture.
extension CaptureMachine {
    /// The reason for which the capture lacks a resource.
    enum Reason: Hashable, Sendable {
        /// The origin could not be asked, or its answer is not whole.
        case failed(String)
        /// The address policy forbids the connection.
        case refused(String)
        case timedOut(String)
        case tooLarge, tooManyResources, tooManyBytes, tooManyRedirects, timeLimit, cancelled
    }

    typealias Found = ArchivedDocument.Found

    /// The news of a fetch, named by the index of its resource, or of the capture as a whole.
    enum Event: Sendable {
        /// The browser asks for a URL.
        case demanded(Found)
        /// The browser shows the page no longer. `page` is the index of its last document, and `found` has the
        /// references of this document in the end; `nil`: the browser has shown no document. `isWhole`: the page had
        /// ended its requests.
        case shown(page: Int?, found: [Found], isWhole: Bool)
        /// The page could not be shown.
        case showingFailed(Reason)
        /// An answer without a redirect; `bytes` is the length of its body.
        case answered(Int, status: Int, bytes: Int64, found: [Found])
        case redirected(Int, status: Int, to: WebURL)
        /// `mayPass`: the same request can succeed later, as after a time-out or a 503.
        case failed(Int, Reason, mayPass: Bool)
        case timeLimitReached
        /// The bodies so far, with the beginnings of bodies that are not complete, exceed the limit of all bodies.
        case byteLimitReached
        case cancelled
    }

    /// A step that the owner of the machine must perform.
    enum Action: Hashable, Sendable {
        /// Fetch the resource with this index. A longer body than `limit` fails with ``Reason/tooLarge``.
        case fetch(Int, limit: Int64)
        case cancel(Int)
        case finish(Outcome)
    }

    /// The end of a capture.
    enum Outcome: String, Hashable, Sendable {
        case complete
        /// Resources are missing.
        case partial
        /// The page itself is missing.
        case failed
        case cancelled
    }
}

extension CaptureMachine.Reason {
    /// Complete sentences for the list of missing resources.
    var words: String {
        switch self {
        case .failed(let words), .refused(let words), .timedOut(let words): words
        case .tooLarge: "the body is longer than the limit"
        case .tooManyResources: "the page has more resources than the limit"
        case .tooManyBytes: "the bodies of the page together are longer than the limit"
        case .tooManyRedirects: "there were too many redirects"
        case .timeLimit: "the time limit of the capture had passed"
        case .cancelled: "the capture was cancelled"
        }
    }
}
