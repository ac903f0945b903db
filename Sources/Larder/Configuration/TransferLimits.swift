/// How many requests to origins may be under way at once.
///
/// Each takes two descriptors, a socket and a file. Half of the process's are for clients' connections
/// (`Daemon.Configuration.connectionLimit`); a quarter is for requests through the gateway and an eighth for downloads,
/// so that origins that hang take nobody's hits; the rest is for everything else.
struct TransferLimits: Equatable {
    /// Through the gateway; at most 4,096.
    let gateway: Int
    /// Of these at one host: half. What cannot be shared must not queue, so it is not less.
    var gatewayPerHost: Int { max(1, gateway / 2) }
    /// Downloads, at most as many as are configured.
    let downloads: Int
    /// Of these at one host: at most as many as are configured, and half.
    let downloadsPerHost: Int

    init(descriptors: Int, maxDownloads: Int, maxDownloadsPerHost: Int) {
        gateway = max(1, min(4096, descriptors / 8))
        downloads = max(1, min(maxDownloads, descriptors / 16))
        downloadsPerHost = max(1, min(maxDownloadsPerHost, downloads / 2))
    }
}
