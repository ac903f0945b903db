import CCurl

/// Owns a handle of libcurl's parser of URLs.
package struct CurlURLHandle: ~Copyable {
    package struct Failure: Error {
        package let code: CURLUcode

        /// libcurl's description.
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

    /// Sets a part, or the whole URL; `nil` removes the part.
    package func set(_ part: CURLUPart, _ text: UnsafePointer<CChar>?, _ flags: Int32 = 0) throws(Failure) {
        let code = curl_url_set(handle, part, text, UInt32(flags))
        guard code == CURLUE_OK else { throw Failure(code: code) }
    }

    /// Returns a part; `nil` if the URL does not have it.
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
