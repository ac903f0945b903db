import Primitives

/// A visit of a page, which stores the page's resources in a ``PageCapture`` and ends with a ``VisitResult``. The
/// resources come from their origins or from an archive.
protocol PageVisit: AnyObject, Sendable {
    var progress: CaptureProgress { get }
    func start()
    func cancel()
}

/// The records of a visit, and the facts about it that the page keeps.
struct VisitResult: Sendable {
    var outcome: CaptureMachine.Outcome
    /// In the order in which the URLs were found.
    var records: [CaptureRecord]
    /// The index of the record of the page's document, after redirects.
    var page: Int
    /// The reason for which the page's document is missing; `nil` for a captured document.
    var reason: CaptureMachine.Reason?
    /// The last answer of an origin in place of the page's document; `nil` without one.
    var refusal: AnswerWithoutBody?
    var title: String?
    var progress: CaptureProgress
    /// Whether a limit kept resources out that have no records.
    var isLimited: Bool
    /// The part of a browser; `nil` without one.
    var rendering: Rendering?
    /// The records of an archive that are no resources of the page; `nil` for another visit.
    var skipped: SkippedRecords?

    struct Rendering: Sendable {
        /// Whether the browser has shown the page.
        var isRendered = false
        /// The page's document in the end, as HTML; `nil` when it could not be read.
        var snapshot: PageManifest.Body?
        /// A picture of the page, as JPEG; `nil` when the browser could not take it.
        var screenshot: PageManifest.Body?
        /// The reason for which there is no rendering or no snapshot, in words.
        var problem: String?
        /// Whether a later capture of the same page may be without the problem.
        var mayPass = false
    }
}
