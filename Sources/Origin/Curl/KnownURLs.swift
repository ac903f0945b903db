/// The URLs that came before, of requests whose target stands apart: these have one for each site, which need not be
/// taken apart each time.
struct KnownURLs {
    /// How many there are before they are all forgotten.
    private static let limit = 1000

    private var urls: [String: OriginURL] = [:]

    /// The URL of a request. Throws ``OriginURL/Invalid``.
    mutating func url(of request: OriginRequest) throws(OriginURL.Invalid) -> OriginURL {
        guard request.requestTarget != nil else { return try OriginURL(request.url) }
        if let url = urls[request.url] { return url }
        let url = try OriginURL(request.url)
        if urls.count >= Self.limit { urls = [:] }
        urls[request.url] = url
        return url
    }
}
