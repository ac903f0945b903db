import CCurl
import Glibc
import HTTPTypes
import Primitives

/// One of libcurl's easy handles, with the options every transfer has; for one try at a time.
///
/// It is used again only by ``IdleHandles``: after a failed look-up, and after a transfer that shared its HTTP/2
/// connection, 7.88 leaves a buffer on the handle, which then refuses options for ever after. Connections and look-ups
/// belong to the multi handle.
///
/// Confined to one of the client's threads. The user data of its callbacks is not retained: whoever it is lives as long
/// as the handle.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let words: UnsafeMutablePointer<CChar>
    private var fieldLines: UnsafeMutablePointer<curl_slist>?
    private var lookUps: UnsafeMutablePointer<curl_slist>?

    init() {
        guard let pointer = curl_easy_init() else { fatalError("libcurl is out of memory") }
        self.pointer = pointer
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.pointee = 0
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(fieldLines)
        curl_slist_free_all(lookUps)
        words.deallocate()
    }

    /// Forgets what a plain request has set (``Transfer/isPlain``): the handle is as it was with its common options.
    func forgetRequest() {
        words.pointee = 0
        for data in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA] {
            set(data, pointer: nil)
        }
        set(CURLOPT_USERAGENT, nil)
        set(CURLOPT_REQUEST_TARGET, nil)
        set(CURLOPT_FORBID_REUSE, 0)
        check(larder_curl_setopt_slist(pointer, CURLOPT_HTTPHEADER, nil), CURLOPT_HTTPHEADER)
        curl_slist_free_all(fieldLines)
        fieldLines = nil
    }

    /// What libcurl says about the error, empty when it says nothing.
    var errorWords: String { String(cString: words) }

    func set(_ option: CURLoption, _ value: Int) {
        check(larder_curl_setopt_long(pointer, option, value), option)
    }

    func set(_ option: CURLoption, _ value: String?) {
        check(larder_curl_setopt_string(pointer, option, value), option)
    }

    /// - Parameter value: a text that ends with a NUL, byte for byte.
    func set(_ option: CURLoption, bytes value: [CChar]) {
        value.withUnsafeBufferPointer { check(larder_curl_setopt_string(pointer, option, $0.baseAddress), option) }
    }

    func set(_ option: CURLoption, offset value: Int64) {
        check(larder_curl_setopt_off_t(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        check(larder_curl_setopt_pointer(pointer, option, value), option)
    }

    /// What every transfer has: nothing but the configuration decides where it goes, no proxy, no file of the user's.
    func setCommonOptions(_ configuration: OriginClient.Configuration) {
        set(CURLOPT_ERRORBUFFER, pointer: words)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "*")
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_FOLLOWLOCATION, 0)
        let schemes = configuration.schemes.intersection(OriginClient.possibleSchemes).sorted().joined(separator: ",")
        set(CURLOPT_PROTOCOLS_STR, schemes)
        set(CURLOPT_REDIR_PROTOCOLS_STR, schemes)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        // See `ChunkedFraming`.
        set(CURLOPT_HTTP_TRANSFER_DECODING, 0)
        // Without it, ending a transfer whose look-up runs would block until the resolver gives up.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_BUFFERSIZE, 65_536)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.forCurl)
        // FTP's answers on the control connection; libcurl's default is two minutes.
        set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(configuration.stallTimeout.inSeconds.rounded(.up))))
        if let file = configuration.certificateAuthorityFile {
            // Debian's directory of the system's authorities stays beside it, as libcurl's default CURLOPT_CAPATH.
            set(CURLOPT_CAINFO, file)
        } else {
            // Without the directory, which has no more than the file, libcurl keeps the parsed file for all transfers.
            set(CURLOPT_CAPATH, nil)
        }
        for lookUp in configuration.lookUps { lookUps = curl_slist_append(lookUps, lookUp) }
        if let lookUps { check(larder_curl_setopt_slist(pointer, CURLOPT_RESOLVE, lookUps), CURLOPT_RESOLVE) }
    }

    /// Sets the field lines of the request; once.
    ///
    /// - Parameter unaided: names of fields for which libcurl takes its own line, and what it would do about the field,
    ///   from `fields` alone.
    func setFields(_ fields: HTTPFields, unaided: [HTTPField.Name] = []) {
        // Without a value the line is not sent. It is the first one that libcurl looks at, so it sees an empty field.
        for name in unaided { fieldLines = curl_slist_append(fieldLines, "\(name.rawName):") }
        for field in fields {
            let line = field.withUnsafeBytesOfValue { value in
                // libcurl's way of writing a field with an empty value; `Name:` would be taken as above.
                Array(field.name.rawName.utf8) + (value.isEmpty ? [0x3b] : [0x3a, 0x20] + value) + [0]
            }
            line.withUnsafeBytes {
                fieldLines = curl_slist_append(fieldLines, $0.assumingMemoryBound(to: CChar.self).baseAddress)
            }
        }
        check(larder_curl_setopt_slist(pointer, CURLOPT_HTTPHEADER, fieldLines), CURLOPT_HTTPHEADER)
    }

    /// A number that libcurl knows of the transfer; `nil` when it does not.
    func info(_ info: CURLINFO) -> Int64? {
        var value: curl_off_t = -1
        guard larder_curl_getinfo_off_t(pointer, info, &value) == CURLE_OK, value >= 0 else { return nil }
        return Int64(value)
    }

    /// The cookies that the handle's engine knows, each a line in the format of Netscape's file, byte for byte.
    var cookies: [[CChar]] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard larder_curl_getinfo_slist(pointer, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
        defer { curl_slist_free_all(list) }
        return sequence(first: list) { $0?.pointee.next }.prefix { $0 != nil }
            .compactMap { $0?.pointee.data }
            .map { Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1)) }
    }

    private func check(_ code: CURLcode, _ option: CURLoption) {
        // Every option here exists in the version that is required; what can fail is memory, or a text over 8 MB.
        precondition(
            code == CURLE_OK, "curl_easy_setopt \(option.rawValue): \(String(cString: curl_easy_strerror(code)))")
    }
}

extension Duration {
    /// Milliseconds as libcurl's options take them, where 0 would mean "no limit" or "the default".
    fileprivate var forCurl: Int { Int(Swift.min(Swift.max(milliseconds, 1), Int64(Int32.max))) }
}
