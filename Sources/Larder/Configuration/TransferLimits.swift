/// Divides the process's file descriptors between clients' connections and concurrent requests to origins.
///
/// A request to an origin takes two descriptors, for a socket and a file. Requests through the gateway get at most a
/// quarter of all descriptors, and downloads at most an eighth, so that origins that hang do not stop the serving of
/// hits. Namespaces and all other uses get an eighth. Clients get the rest, at least half.
struct TransferLimits: Equatable {
    /// A low limit of file descriptors permits fewer.
    static let namespaceLimit = 100

    let gateway: Int
    /// Half of ``gateway`` for one host, and not less, because requests that cannot share a response must not queue.
    var gatewayPerHost: Int { max(1, gateway / 2) }
    let downloads: Int
    let downloadsPerHost: Int
    /// At most a hundred, because each takes about sixteen descriptors.
    let namespaces: Int
    /// Connections of clients; at most 16,384, because each takes memory.
    let clients: Int

    init(descriptors: Int, maxDownloads: Int, maxDownloadsPerHost: Int) {
        gateway = max(1, min(4096, descriptors / 8))
        downloads = max(1, min(maxDownloads, descriptors / 16))
        downloadsPerHost = max(1, min(maxDownloadsPerHost, downloads / 2))
        namespaces = max(1, min(Self.namespaceLimit, descriptors / 8 / 16))
        clients = max(1, min(16_384, descriptors - descriptors / 8 - 2 * gateway - 2 * downloads))
    }
}
