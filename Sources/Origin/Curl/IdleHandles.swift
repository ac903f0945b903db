import CCurl

/// Keeps the handles of successful transfers for later transfers, because a new handle costs a dozen allocations and
/// thirty options.
///
/// No handle is kept when libcurl would carry pointers of a transfer into the next
/// (``LibcurlVersion/canReuseHandles``). Other versions of libcurl leave no state behind after plain requests
/// (``Transfer/isPlain``) that got a response (see ``EasyHandle``), so only the handles of such requests are kept. All
/// handles have the common options of the same configuration. Confined to a single thread of the client.
struct IdleHandles {
    private let configuration: OriginConfiguration
    private var handles: [EasyHandle] = []
    /// The default of ``OriginConfiguration/maxTransfersPerHost``. The memory is small, because a handle takes
    /// about 6 KiB.
    private static let limit = 128

    init(_ configuration: OriginConfiguration) {
        self.configuration = configuration
    }

    /// Returns a handle with only the common options.
    mutating func take() -> EasyHandle {
        if let handle = handles.popLast() { return handle }
        let handle = EasyHandle()
        handle.setCommonOptions(configuration)
        return handle
    }

    /// Keeps a handle that was removed from the multi handle, after a plain request that got a response.
    mutating func keep(_ handle: EasyHandle) {
        guard LibcurlVersion.canReuseHandles, handles.count < Self.limit else { return }
        handle.forgetRequest()
        handles.append(handle)
    }
}
