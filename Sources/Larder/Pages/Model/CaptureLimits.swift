/// The most that a capture takes. A capture that reaches a limit is partial.
package struct CaptureLimits: Hashable, Sendable {
    /// The most resources, with the page itself and each redirect.
    package var resources = 2000
    /// The most bytes of all bodies together.
    package var totalBytes: Int64 = 200 << 20
    /// The most bytes of one body.
    package var resourceBytes: Int64 = 50 << 20
    /// The most bytes of an HTML document, because it is read as a whole.
    package var documentBytes: Int64 = 20 << 20
    /// The time from the start of the first fetch to the end of the capture.
    package var time = Duration.seconds(60)
    /// Frames within frames; 0 captures no frames.
    package var frameDepth = 3
    /// Style sheets that a style sheet imports.
    package var styleDepth = 8
    /// The most redirects from one URL to a body.
    package var redirects = 10
    /// The most fetches at once, in all and for one host.
    package var fetches = 24
    package var fetchesPerHost = 6

    package init() {}
}
