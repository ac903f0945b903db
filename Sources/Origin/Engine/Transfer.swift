import CCurl
import Glibc
import HTTPTypes
import Primitives

/// A transfer from its first URL to its end, with the current request and the findings of libcurl's callbacks. Only one
/// thread of the client uses it. The callbacks also run on this thread, inside `curl_multi_perform`.
final class Transfer {
    typealias Instant = LoopTimer.Instant

    enum Phase {
        /// The transfer waits in the queue, or pauses before the next try.
        case idle
        case connecting
        /// The request is being sent; no byte of the response has arrived.
        case waiting
        case receiving
    }

    /// The state of a single try to send the request and get its response.
    struct Try {
        var phase = Phase.idle
        var parser = ResponseHeadParser(allowsHTTP2: false)
        var chunks: ChunkedFraming?
        /// The bytes that `readChunks` has read from the piece that libcurl delivers again (see ``Reception/held``).
        var heldCount = 0
        /// The head of a chunked response, until its first chunk begins correctly or libcurl has read all available
        /// bytes. So a response with wrong framing from the beginning fails before the receiver gets the head.
        var heldHead: OriginHead?
        /// The bytes of the `Location`, while the body of a redirect is being received.
        var redirection: [UInt8]?
        var redirectBodyLeft = 65_536
        /// The sockets that the try has opened. The list is emptied when the request is about to be sent.
        var opened: [curl_socket_t] = []
        /// `nil` before the connection is known, and for FTP.
        var connection: OriginConnection?
        /// The remote address of FTP's control connection.
        var controlAddress: IPAddress?
        var refusal: String?
        var isReuse = false
        var isRefusedReuse = false
        /// Whether an existing connection may not carry the request (see ``OriginConnection/carries(_:)``).
        var isUncleanReuse = false
        /// Whether the parser accepted at least one line of a head.
        var hasHead = false
        /// The error that a callback found before it stopped libcurl.
        var failure: OriginError.Kind?
    }

    let control: OriginTransfer
    let request: OriginRequest
    let receiver: any OriginReceiver
    let resources: TransferResources

    var url: OriginURL
    var fields: HTTPFields
    /// The target of the request line, when it differs from the target in the URL.
    var requestTarget: String?
    var redirectCount = 0
    var failedTries = 0
    /// Set if the request authenticates its connection, or if a reused connection was refused or had unexpected bytes.
    var needsOwnConnection: Bool
    /// The rest of the total time limit at `startedAt`.
    var timeLeft: Duration
    /// `nil` while the transfer waits in the queue.
    var startedAt: Instant?
    var queuedAt: Instant
    var retryAt: Instant?
    var lastProgress: Instant
    /// Whether libcurl is paused, for the receiver or for bytes of the upload. The stall limit then does not apply.
    var isHolding = false
    var handle: EasyHandle?
    /// The cookies of the earlier responses, by origin, in libcurl's format (see `Transfer+Request`).
    var cookies: [String: [[CChar]]] = [:]
    var byteCount: Int64 = 0
    var answer: OriginHead?
    var decoding: ContentDecoding?
    var current = Try()

    init(
        control: OriginTransfer, request: OriginRequest, receiver: any OriginReceiver, url: OriginURL,
        resources: TransferResources
    ) {
        self.control = control
        self.request = request
        self.receiver = receiver
        self.url = url
        fields = request.fields
        requestTarget = request.requestTarget
        // On a shared connection, the origin would attribute later requests to this caller.
        needsOwnConnection = request.isForOneConnection
        timeLeft = resources.configuration.totalTimeout
        self.resources = resources
        queuedAt = resources.timer.now
        lastProgress = queuedAt
    }

    var id: UInt64 { control.id }
    var configuration: OriginConfiguration { resources.configuration }
    var policy: AddressPolicy { request.addressPolicy ?? configuration.addressPolicy }
    var now: Instant { resources.timer.now }
    var isFTP: Bool { url.scheme == "ftp" }

    /// Lets the receiver refuse the request before it goes to the origin of the present URL.
    func announce() throws(OriginError) {
        do {
            try receiver.originWillBeAsked(url.origin)
        } catch {
            throw OriginError(.receiver(error))
        }
    }

    func begin() {
        current = Try(phase: .connecting, parser: ResponseHeadParser(allowsHTTP2: url.scheme == "https"))
        lastProgress = now
        isHolding = false
    }

    /// Opens a socket if the address policy allows the address. libcurl does not call this for a reused connection.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        let target = larder_curl_address(address)!
        guard let ip = IPAddress(target) else {
            current.refusal = current.refusal ?? "its address is neither IPv4 nor IPv6"
            return CURL_SOCKET_BAD
        }
        let port = SocketAddress.port(in: target)
        // FTP's first connection is for control; its later connections are for data.
        let isData = isFTP && current.phase != .connecting
        let use: AddressPolicy.Use = isData ? .data(controlPort: url.port) : .request
        let reason =
            isData && ip != current.controlAddress
            ? "the data connection has another address than the control connection"
            : configuration.ownSockets.refusal(of: ip, port: port)
                ?? policy.refusal(of: ip, port: port, host: url.host, for: use)
        if let reason {
            current.refusal = current.refusal ?? reason
            return CURL_SOCKET_BAD
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
        current.opened.append(descriptor)
        if isFTP { resources.ftpSockets.insert(descriptor) }
        return descriptor
    }

    /// Returns whether the request may be sent over the connection. A reused connection may have been opened under a
    /// more permissive policy, so it is checked again. Later refusals of an address concern FTP data connections.
    func willSendRequest(to address: String, port: Int32, localPort: Int32) -> Bool {
        current.phase = .waiting
        lastProgress = now
        // From now on the stall limit applies, and it may end before every noted deadline.
        resources.timer.note(lastProgress + configuration.stallTimeout)
        current.isReuse = current.opened.isEmpty
        if isFTP {
            current.controlAddress = IPAddress(address)
        } else {
            let ends = OriginConnections.Ends(
                address: address, port: port, localPort: UInt16(exactly: localPort) ?? 0)
            current.connection =
                current.isReuse
                ? resources.connections.connection(ends)
                : resources.connections.opened(current.opened, ends, isSecure: url.scheme == "https")
            current.isUncleanReuse = current.isReuse && current.connection?.carries(caller) != true
            if current.isUncleanReuse { return false }
            current.connection?.caller = caller
        }
        current.opened = []
        current.refusal = request.addressPolicy.flatMap { policy in
            guard let ip = IPAddress(address), let port = UInt16(exactly: port) else { return "its address is unknown" }
            return policy.refusal(of: ip, port: port, host: url.host)
        }
        current.isRefusedReuse = current.isReuse && current.refusal != nil
        return current.refusal == nil
    }

    func readUpload(into target: UnsafeMutableRawBufferPointer) -> Int {
        lastProgress = now
        switch request.body?.read(into: target) {
        case .bytes(let count): return count
        case .end, nil: return 0
        case .wait:
            isHolding = true
            return Int(CURL_READFUNC_PAUSE)
        }
    }

    /// Makes libcurl continue to receive and to send, until a callback pauses it again. May call the receiver.
    func goOn() -> CURLcode {
        guard isHolding, let handle else { return CURLE_OK }
        isHolding = false
        lastProgress = now
        return curl_easy_pause(handle.pointer, CURLPAUSE_CONT)
    }

    /// Makes libcurl close the connection when the response is complete.
    func closeAfterwards() {
        handle?.set(CURLOPT_FORBID_REUSE, 1)
    }
}

/// The state that a ``TransferLoop`` shares with its transfers. Only one thread of the client uses it.
final class TransferResources {
    let configuration: OriginConfiguration
    let timer: LoopTimer
    let answered = AnsweredTransfers()
    let connections = OriginConnections()
    let ftpSockets = FTPSockets()

    init(_ configuration: OriginConfiguration) {
        self.configuration = configuration
        timer = LoopTimer(clock: configuration.now)
    }
}

/// The loop's clock, and the time of the next check of time limits. Only one thread of the client uses it.
final class LoopTimer {
    typealias Instant = ContinuousClock.Instant

    private let clock: @Sendable () -> Instant
    /// The time of the next check. No time limit and no pause ends earlier.
    private(set) var next: Instant?

    init(clock: @escaping @Sendable () -> Instant) {
        self.clock = clock
    }

    var now: Instant { clock() }

    func note(_ deadline: Instant?) {
        guard let deadline else { return }
        next = next.map { min($0, deadline) } ?? deadline
    }

    /// Whether the earliest deadline has passed. If so, the caller must note the remaining deadlines again.
    func isDue(_ now: Instant) -> Bool {
        guard let next, next <= now else { return false }
        self.next = nil
        return true
    }
}

/// The transfers that got their final head since the last ``tellPause()``. Only one thread of the client uses it.
final class AnsweredTransfers {
    private var transfers: [Transfer] = []

    func note(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// Tells the receivers of unfinished transfers that libcurl has read all available bytes. Before, delivers the
    /// heads that were held back. Returns the transfers that ended because a receiver refused its head.
    func tellPause() -> [Transfer] {
        guard !transfers.isEmpty else { return [] }
        let waiting = transfers.filter { $0.current.phase == .receiving }
        // Removed before the calls: transfers keep much memory alive, and a receiver can cause new entries.
        transfers.removeAll(keepingCapacity: true)
        var refused: [Transfer] = []
        for transfer in waiting {
            if transfer.deliverHeldHead() { transfer.receiver.originDidPause() } else { refused.append(transfer) }
        }
        return refused
    }
}
