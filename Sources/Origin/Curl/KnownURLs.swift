import Primitives

/// The URLs that came before, of requests whose target stands apart: these have one for each site, which need not be
/// taken apart each time.
struct KnownURLs {
    /// How many there are before they are all forgotten.
    private static let limit = 1000
    /// A longer one is not remembered: no host's name has more than 253 bytes.
    private static let lengthLimit = 300

    private var urls: [ExactText: OriginURL] = [:]

    /// The URL of a request. Throws ``OriginURL/Invalid``.
    mutating func url(of request: OriginRequest) throws(OriginURL.Invalid) -> OriginURL {
        let text = ExactText(request.url)
        if let url = urls[text] { return url }
        let url = try OriginURL(request.url)
        if request.requestTarget != nil, request.url.utf8.count <= Self.lengthLimit {
            if urls.count >= Self.limit { urls = [:] }
            urls[text] = url
        }
        return url
    }

    /// How many are remembered.
    var count: Int { urls.count }
}
