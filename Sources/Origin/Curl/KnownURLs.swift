import Primitives

/// The URLs that came before, of requests whose target stands apart: these have one for each site, which need not be
/// taken apart each time.
struct KnownURLs {
    private var urls = BoundedMemo<ExactText, OriginURL>(limit: ExactURL.knownSiteLimit)

    /// The URL of a request. Throws ``OriginURL/Invalid``.
    mutating func url(of request: OriginRequest) throws(OriginURL.Invalid) -> OriginURL {
        let text = ExactText(request.url)
        if let url = urls[text] { return url }
        let url = try OriginURL(request.url)
        if request.requestTarget != nil, request.url.utf8.count <= ExactURL.siteLengthLimit {
            _ = urls.remember(url, for: text)
        }
        return url
    }

    /// How many are remembered.
    var count: Int { urls.count }
}
