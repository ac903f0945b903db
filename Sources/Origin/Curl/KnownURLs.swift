import Primitives

/// Remembers parsed URLs of requests with a separate target. Such requests use the same URL for a whole site, so the
/// URL need not be parsed each time.
struct KnownURLs {
    private var urls = BoundedMemo<ExactText, OriginURL>(limit: ExactURL.knownSiteLimit)

    /// The parsed URL of a request. Throws ``OriginURL/Invalid``.
    mutating func url(of request: OriginRequest) throws(OriginURL.Invalid) -> OriginURL {
        let text = ExactText(request.url)
        if let url = urls[text] { return url }
        let url = try OriginURL(request.url)
        if request.requestTarget != nil, request.url.utf8.count <= ExactURL.siteLengthLimit {
            _ = urls.remember(url, for: text)
        }
        return url
    }

    var count: Int { urls.count }
}
