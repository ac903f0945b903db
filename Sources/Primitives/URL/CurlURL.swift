import CCurl
import Foundation

/// Splits URLs with libcurl's parser, which also reads them for the download.
enum CurlURL {
    struct Parts {
        var scheme: String
        /// In the spelling of ``URLHost/canonical(_:)``.
        var host: String
        var port: UInt16?
        var path: String
        var query: String?
    }

    static func parse(_ text: String) throws(InvalidURL) -> Parts {
        var parts = try read(text)
        // libcurl looks for the numbers of an IPv4 address before it decodes the escapes of a host and converts the
        // host to punycode. Therefore it misses numbers in `127%2e1` and in `127\u{3002}1`.
        if URLHost.mayBeNumbers(parts.host) { parts.host = try read("http://\(parts.host)/").host }
        return parts
    }

    private static func read(_ text: String) throws(InvalidURL) -> Parts {
        let url = CurlURLHandle()
        return try UTF8Locale.use { () throws(InvalidURL) in
            let scheme, host, zone, port, path, query: String?
            do throws(CurlURLHandle.Failure) {
                try url.set(CURLUPART_URL, text, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER)
                zone = try url.get(CURLUPART_ZONEID)
                scheme = try url.get(CURLUPART_SCHEME)
                host = try url.get(CURLUPART_HOST, CURLU_PUNYCODE)
                port = try url.get(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT)
                path = try url.get(CURLUPART_PATH)
                query = try url.get(CURLUPART_QUERY)
            } catch {
                throw Self.error(error)
            }
            guard zone == nil else { throw .badHost }
            guard let host else { throw .noHost }
            return Parts(
                scheme: scheme ?? "", host: try URLHost.canonical(host), port: port.flatMap { UInt16($0) },
                path: path ?? "/", query: query)
        }
    }

    private static func error(_ failure: CurlURLHandle.Failure) -> InvalidURL {
        switch failure.code {
        case CURLUE_NO_HOST: .noHost
        case CURLUE_BAD_HOSTNAME, CURLUE_BAD_IPV6, CURLUE_LACKS_IDN: .badHost
        case CURLUE_BAD_PORT_NUMBER: .badPort
        case CURLUE_USER_NOT_ALLOWED, CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD: .credentials
        case CURLUE_NO_SCHEME, CURLUE_BAD_SCHEME: .relative
        case CURLUE_URLDECODE: .brokenEscape
        default: .malformed(failure.words)
        }
    }
}

/// libcurl passes host names to libidn2 in the locale's encoding. The "C" locale of a Swift process would make libidn2
/// refuse all names that are not ASCII. This type sets a UTF-8 locale for the calling thread, for the time of a call.
private enum UTF8Locale {
    /// Sharing the pointer is safe, because the locale is never freed and never changed after its creation.
    nonisolated(unsafe) private static let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

    static func use<Result>(_ body: () throws(InvalidURL) -> Result) throws(InvalidURL) -> Result {
        guard let locale else { return try body() }
        let previous = uselocale(locale)
        defer { uselocale(previous) }
        return try body()
    }
}
