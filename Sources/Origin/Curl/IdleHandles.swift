import CCurl

/// Handles of transfers that ended well, for the next ones: a new one costs a dozen allocations and thirty options.
///
/// No handle is kept where libcurl would carry pointers of one transfer into the next
/// (``LibcurlVersion/canReuseHandles``). Elsewhere only those are kept after which libcurl leaves nothing behind (see
/// ``EasyHandle``): of plain requests (``Transfer/isPlain``) that were answered. All have the common options of one
/// configuration. Confined to one of the client's threads.
struct IdleHandles {
    private let configuration: OriginClient.Configuration
    private var handles: [EasyHandle] = []
    /// More than one origin may have at once, and few enough to be forgotten: each takes about 6 KiB.
    private static let limit = 128

    init(_ configuration: OriginClient.Configuration) {
        self.configuration = configuration
    }

    /// A handle with the common options and nothing else.
    mutating func take() -> EasyHandle {
        if let handle = handles.popLast() { return handle }
        let handle = EasyHandle()
        handle.setCommonOptions(configuration)
        return handle
    }

    /// Keeps a handle that libcurl has given back, after a plain request that was answered.
    mutating func keep(_ handle: EasyHandle) {
        guard LibcurlVersion.canReuseHandles, handles.count < Self.limit else { return }
        handle.forgetRequest()
        handles.append(handle)
    }
}
