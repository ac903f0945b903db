import CCurl

/// The behaviour of the linked libcurl, by its version and features.
enum LibcurlVersion {
    /// Whether an easy handle may carry a second transfer.
    ///
    /// From 7.83.0 on, libcurl keeps the fields of a response (`curl_easy_header`). Up to 8.1.0, a handle then
    /// remembers the last field of the previous response, although libcurl has freed it. libcurl appends a folded first
    /// field line to that field, so any origin could write into freed memory (curl issue 11101).
    static let canReuseHandles: Bool = {
        let version = curl_version_info(CURLVERSION_FIRST).pointee.version_num
        return canReuseHandles(version: version, keepsFields: keepsFields)
    }()

    /// Decides for a version of libcurl.
    ///
    /// - Parameters:
    ///   - version: `0x075801` for 7.88.1.
    ///   - keepsFields: whether libcurl was built with `curl_easy_header`.
    static func canReuseHandles(version: UInt32, keepsFields: Bool) -> Bool {
        !keepsFields || version < 0x075300 || version >= 0x080101
    }

    private static var keepsFields: Bool {
        guard let handle = curl_easy_init() else { return true }
        defer { curl_easy_cleanup(handle) }
        var field: UnsafeMutablePointer<curl_header>?
        return curl_easy_header(handle, "Date", 0, UInt32(CURLH_HEADER), -1, &field) != CURLHE_NOT_BUILT_IN
    }
}
