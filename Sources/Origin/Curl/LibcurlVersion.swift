import CCurl

/// What the libcurl that is linked does, by its version and features.
enum LibcurlVersion {
    /// Whether an easy handle may carry a second transfer.
    ///
    /// From 7.83.0 on, where libcurl keeps the fields of an answer (`curl_easy_header`), up to 8.1.0 a handle remembers
    /// the last field of the answer before, which it has freed. A first field line that is folded is appended to it, so
    /// that any origin could write into freed memory (curl issue 11101).
    static let canReuseHandles: Bool = {
        let version = curl_version_info(CURLVERSION_FIRST).pointee.version_num
        return canReuseHandles(version: version, keepsFields: keepsFields)
    }()

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
