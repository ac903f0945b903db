import CCurl
import Foundation

/// Splits URLs with libcurl's parser, because libcurl also splits them for the download.
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
        // host to punycode. So it does not find the numbers in `127%2e1` and `127\u{3002}1`, and a second reading does.
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

package struct CurlURLHandle: ~Copyable {
    package struct Failure: Error {
        package let code: CURLUcode
        package var words: String { String(cString: curl_url_strerror(code)) }
    }

    private let handle: OpaquePointer

    package init() {
        guard let handle = curl_url() else { fatalError("libcurl is out of memory") }
        self.handle = handle
    }

    deinit {
        curl_url_cleanup(handle)
    }

    /// Sets a part of the URL, or the whole URL; `nil` removes the part.
    package func set(_ part: CURLUPart, _ text: UnsafePointer<CChar>?, _ flags: Int32 = 0) throws(Failure) {
        let code = curl_url_set(handle, part, text, UInt32(flags))
        guard code == CURLUE_OK else { throw Failure(code: code) }
    }

    package func get(_ part: CURLUPart, _ flags: Int32 = 0) throws(Failure) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, part, &text, UInt32(flags))
        defer { curl_free(text) }
        switch code {
        case CURLUE_OK: return text.map { String(cString: $0) }
        case CURLUE_NO_HOST, CURLUE_NO_PORT, CURLUE_NO_QUERY, CURLUE_NO_ZONEID: return nil
        default: throw Failure(code: code)
        }
    }
}

/// libcurl passes host names to libidn2 in the locale's encoding. In the "C" locale of a Swift process, libidn2 would
/// refuse all non-ASCII names. This type sets a UTF-8 locale on the calling thread for the duration of a call.
package enum UTF8Locale {
    /// Sharing the pointer is safe, because the locale is never freed and does not change after its creation.
    nonisolated(unsafe) package static let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

    fileprivate static func use<Result>(_ body: () throws(InvalidURL) -> Result) throws(InvalidURL) -> Result {
        guard let locale else { return try body() }
        let previous = uselocale(locale)
        defer { uselocale(previous) }
        return try body()
    }
}

enum URLHost {
    /// Returns the canonical text of a host that libcurl has read: in lower case, and an IPv6 address in the form of
    /// RFC 5952, because libcurl keeps the spelling of an IPv6 address unless a shorter text exists. Throws
    /// ``InvalidURL/badHost`` for a text that is neither an address nor a name of letters, digits, `-`, `.` and `_`.
    /// libcurl accepts more, for example `%`, and another program may decode such a text to another host.
    static func canonical(_ text: String) throws(InvalidURL) -> String {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = IPAddress(text.dropFirst().dropLast()), case .v6 = address else { throw .badHost }
            return "[\(address)]"
        }
        let host = text.lowercased()
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isUnreserved && $0 != UInt8(ascii: "~") }) else {
            throw .badHost
        }
        return host
    }

    /// Removes the final dot of the DNS root: `example.com.` is the name `example.com`, and `127.1.` is the address
    /// `127.1`. Throws ``InvalidURL/badHost`` if the dot stands alone or follows another dot.
    static func withoutRootDot(_ host: String) throws(InvalidURL) -> String {
        guard host.utf8.last == UInt8(ascii: ".") else { return host }
        let name = host.utf8.dropLast()
        guard let last = name.last, last != UInt8(ascii: ".") else { throw .badHost }
        return try CurlURL.parse("http://\(Substring(name))/").host
    }

    static func authority(_ host: String, _ port: UInt16?) -> String {
        port.map { "\(host):\($0)" } ?? host
    }

    /// Whether a host may be an IPv4 address not written as four decimal numbers, such as `127.1` or `0x7f000001`.
    static func mayBeNumbers(_ host: String) -> Bool {
        host.utf8.first?.isDigit == true && IPAddress(host) == nil
    }
}
