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
        guard let handle = curl_url() else { throw .malformed("out of memory") }
        defer { curl_url_cleanup(handle) }
        return try UTF8Locale.use { () throws(InvalidURL) in
            let flags = UInt32(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER)
            let code = curl_url_set(handle, CURLUPART_URL, text, flags)
            guard code == CURLUE_OK else { throw error(code) }
            guard try part(CURLUPART_ZONEID, of: handle) == nil else { throw .badHost }
            return Parts(
                scheme: try part(CURLUPART_SCHEME, of: handle) ?? "",
                host: try URLHost.canonical(try part(CURLUPART_HOST, of: handle, UInt32(CURLU_PUNYCODE)) ?? ""),
                port: try part(CURLUPART_PORT, of: handle, UInt32(CURLU_NO_DEFAULT_PORT)).flatMap { UInt16($0) },
                path: try part(CURLUPART_PATH, of: handle) ?? "/",
                query: try part(CURLUPART_QUERY, of: handle))
        }
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32 = 0) throws(InvalidURL)
        -> String?
    {
        var text: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, part, &text, flags)
        defer { curl_free(text) }
        switch code {
        case CURLUE_OK: return text.map { String(cString: $0) }
        case CURLUE_NO_PORT, CURLUE_NO_QUERY, CURLUE_NO_ZONEID: return nil
        default: throw error(code)
        }
    }

    private static func error(_ code: CURLUcode) -> InvalidURL {
        switch code {
        case CURLUE_NO_HOST: .noHost
        case CURLUE_BAD_HOSTNAME, CURLUE_BAD_IPV6, CURLUE_LACKS_IDN: .badHost
        case CURLUE_BAD_PORT_NUMBER: .badPort
        case CURLUE_USER_NOT_ALLOWED, CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD: .credentials
        case CURLUE_NO_SCHEME, CURLUE_BAD_SCHEME: .relative
        case CURLUE_URLDECODE: .brokenEscape
        default: .malformed(String(cString: curl_url_strerror(code)))
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
