/// What the process's descriptors are for: clients' connections, and requests to origins that are under way at once.
///
/// A request to an origin takes two, a socket and a file. At most a quarter is for requests through the gateway and an
/// eighth for downloads, so that origins that hang take nobody's hits; an eighth is for everything else, namespaces
/// first of all; clients may have all that this leaves, which is half of them or more.
struct TransferLimits: Equatable {
    /// Through the gateway; at most 4,096.
    let gateway: Int
    /// Of these at one host: half. What cannot be shared must not queue, so it is not less.
    var gatewayPerHost: Int { max(1, gateway / 2) }
    /// Downloads, at most as many as are configured.
    let downloads: Int
    /// Of these at one host: at most as many as are configured, and half.
    let downloadsPerHost: Int
    /// At most a hundred, each with about sixteen descriptors.
    let namespaces: Int
    /// Connections of clients; at most 16,384, for each has memory of its own.
    let clients: Int

    init(descriptors: Int, maxDownloads: Int, maxDownloadsPerHost: Int) {
        gateway = max(1, min(4096, descriptors / 8))
        downloads = max(1, min(maxDownloads, descriptors / 16))
        downloadsPerHost = max(1, min(maxDownloadsPerHost, downloads / 2))
        namespaces = max(1, min(NamespaceRegistry.limit, descriptors / 8 / 16))
        clients = max(1, min(16_384, descriptors - descriptors / 8 - 2 * gateway - 2 * downloads))
    }
}
