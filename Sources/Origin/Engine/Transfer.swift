import CCurl
import Glibc
import HTTPTypes
import Primitives

/// A transfer from its first URL to its end: the current hop, and the findings of libcurl's callbacks.
///
/// Confined to a single thread of the client; the callbacks run on that thread, too, inside `curl_multi_perform`.
final class Transfer {
    typealias Instant = LoopTimer.Instant

    /// The phase of the current try.
    enum Phase {
        /// The transfer waits in the queue, or pauses before the next try.
        case idle
        case connecting
        /// The request is being sent; no byte of the response has arrived.
        case waiting
        case receiving
    }

    /// The caller's handle of the transfer.
    let control: OriginTransfer
    let request: OriginRequest
    let receiver: any OriginReceiver
    private let policy: AddressPolicy
    private let ownSockets: OwnSockets
    private let stallTimeout: Duration
    private let timer: LoopTimer
    private let answered: AnsweredTransfers

    // The state of the whole transfer.
    var url: OriginURL
    var fields: HTTPFields
    /// The target of the current hop, when it differs from the target of the URL.
    var requestTarget: String?
    var redirectCount = 0
    var failedTries = 0
    /// Whether the transfer opens its own connection: because the request authenticates its connection, or because a
    /// reused connection led to a refused address, or carried bytes that were not a response.
    var needsOwnConnection = false
    /// The rest of the total time at `startedAt`.
    var timeLeft: Duration
    /// The time at which the transfer left the queue; `nil` while it waits.
    var startedAt: Instant?
    /// The time at which the transfer entered the queue.
    var queuedAt: Instant
    /// The time at which the pause before the next try ends.
    var retryAt: Instant?
    var handle: EasyHandle?
    var ftpSockets: FTPSockets?
    var connections: OriginConnections?
    /// The cookies of the earlier hops, by origin, in libcurl's format (see `Transfer+Cookies`).
    var cookies: [String: [[CChar]]] = [:]
    var byteCount: Int64 = 0
    private(set) var answer: OriginHead?
    /// The decoding of the body, from the first byte of the body on.
    var decoding: ContentDecoding?

    // The state of the current try; `begin` resets it.
    private(set) var phase = Phase.idle
    var lastProgress: Instant
    /// Whether libcurl is paused, because the body is held back, or because bytes of the request's body are missing.
    /// The stall limit does not apply meanwhile, because the origin does not cause the delay.
    var isHolding = false
    private var parser = ResponseHeadParser(allowsHTTP2: false)
    /// The framing of a chunked response.
    var chunks: ChunkedFraming?
    /// The number of bytes already read from the piece that libcurl holds.
    var heldCount = 0
    /// The head of a chunked response, until its first chunk begins correctly or libcurl has read all available bytes.
    /// A receiver that has the head can no longer be told that the framing is wrong from the beginning.
    private(set) var heldHead: OriginHead?
    /// The bytes of the `Location`, while a redirect is being received.
    private(set) var redirection: [UInt8]?
    var redirectBodyLeft = 0
    /// The sockets that were opened since the try began, or since its request was sent.
    private(set) var opened: [curl_socket_t] = []
    /// The connection of the try; `nil` before it is known, and for FTP.
    private(set) var connection: OriginConnection?
    /// The remote address of FTP's control connection.
    private var controlAddress: IPAddress?
    private(set) var refusal: String?
    /// Whether the try used an existing connection.
    private(set) var isReuse = false
    /// Whether the refused address belongs to an existing connection.
    private(set) var isRefusedReuse = false
    /// Whether an existing connection may not carry the request (see ``OriginConnection/carries(_:)``).
    private(set) var isUncleanReuse = false
    /// Whether the parser accepted at least one line of a head.
    private(set) var hasHead = false
    /// The fault that a callback found before it stopped libcurl.
    var failure: OriginError.Kind?

    init(
        control: OriginTransfer, request: OriginRequest, receiver: any OriginReceiver, url: OriginURL,
        configuration: OriginConfiguration, timer: LoopTimer, answered: AnsweredTransfers
    ) {
        self.control = control
        self.request = request
        self.receiver = receiver
        self.url = url
        fields = request.fields
        requestTarget = request.requestTarget
        policy = request.addressPolicy ?? configuration.addressPolicy
        ownSockets = configuration.ownSockets
        // The origin would attribute later requests on the connection to this caller.
        needsOwnConnection = request.isForOneConnection
        timeLeft = configuration.totalTimeout
        stallTimeout = configuration.stallTimeout
        self.timer = timer
        self.answered = answered
        queuedAt = timer.now
        lastProgress = timer.now
    }

    var id: UInt64 { control.id }
    var now: Instant { timer.now }
    var isFTP: Bool { url.scheme == "ftp" }

    /// Resets the state at the start of a try.
    func begin() {
        phase = .connecting
        lastProgress = timer.now
        isHolding = false
        parser = ResponseHeadParser(allowsHTTP2: url.scheme == "https")
        chunks = nil
        heldCount = 0
        heldHead = nil
        redirection = nil
        redirectBodyLeft = 65_536
        opened = []
        connection = nil
        controlAddress = nil
        refusal = nil
        isReuse = false
        isRefusedReuse = false
        isUncleanReuse = false
        hasHead = false
        failure = nil
    }

    /// Ends the try; the caller of this method decides how the transfer continues.
    func pause() {
        phase = .idle
    }

    // MARK: Callbacks of libcurl

    /// Opens a socket if the address policy allows the address. libcurl does not call this for a reused connection.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        let target = larder_curl_address(address)!
        guard let ip = IPAddress(target) else {
            refusal = refusal ?? "its address is neither IPv4 nor IPv6"
            return CURL_SOCKET_BAD
        }
        // sin_port and sin6_port have the same offset.
        let port = UInt16(bigEndian: UnsafeRawPointer(target).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        // FTP's first connection is for control; its later connections are for data.
        let isData = isFTP && phase != .connecting
        let use: AddressPolicy.Use = isData ? .data(controlPort: url.port) : .request
        let reason =
            isData && ip != controlAddress
            ? "the data connection has another address than the control connection"
            : ownSockets.refusal(of: ip, port: port) ?? policy.refusal(of: ip, port: port, host: url.host, for: use)
        if let reason {
            refusal = refusal ?? reason
            return CURL_SOCKET_BAD
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
        opened.append(descriptor)
        if isFTP { ftpSockets?.insert(descriptor) }
        return descriptor
    }

    /// Checks the connection, new or reused, before the request is sent. Later refusals of an address concern FTP data
    /// connections.
    ///
    /// The policy of the request is checked again, because a reused connection may have been opened under a more
    /// permissive policy.
    ///
    /// - Parameters:
    ///   - address: the remote address of the connection, as text.
    ///   - localPort: the local port of the connection.
    /// - Returns: whether the request may be sent over the connection.
    func willSendRequest(to address: String, port: Int32, localPort: Int32) -> Bool {
        phase = .waiting
        lastProgress = timer.now
        // The stall limit starts now, and may end before every noted deadline.
        timer.note(lastProgress + stallTimeout)
        isReuse = opened.isEmpty
        if isFTP {
            controlAddress = IPAddress(address)
        } else {
            let ends = OriginConnections.Ends(address: address, port: port, localPort: localPort)
            connection =
                isReuse
                ? connections?.connection(ends)
                : connections?.opened(opened, ends, isSecure: url.scheme == "https")
            isUncleanReuse = isReuse && connection?.carries(caller) != true
            if isUncleanReuse { return false }
            connection?.caller = caller
        }
        opened = []
        refusal = request.addressPolicy.flatMap { policy in
            guard let ip = IPAddress(address), let port = UInt16(exactly: port) else { return "its address is unknown" }
            return policy.refusal(of: ip, port: port, host: url.host)
        }
        isRefusedReuse = isReuse && refusal != nil
        return refusal == nil
    }

    /// Receives a line of a head, or of a trailer. `false` stops libcurl.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        lastProgress = timer.now
        guard !isFTP else { return true }
        phase = .receiving
        connection?.count(line.count)
        do throws(ResponseHeadParser.Malformed) {
            let head = try parser.consume(line)
            hasHead = true
            return head.map(receive) ?? true
        } catch {
            failure = .malformedResponse(error.reason)
            return false
        }
    }

    /// Gives libcurl the next bytes of the request's body; returns their number.
    func readUpload(into target: UnsafeMutableRawBufferPointer) -> Int {
        lastProgress = timer.now
        switch request.body?.read(into: target) {
        case .bytes(let count): return count
        case .end, nil: return 0
        case .wait:
            isHolding = true
            return Int(CURL_READFUNC_PAUSE)
        }
    }

    /// Makes libcurl continue the parts that it holds. The callbacks hold a part again when it must still wait. The
    /// receiver may be called from within. Returns libcurl's result.
    func goOn() -> CURLcode {
        guard isHolding, let handle else { return CURLE_OK }
        isHolding = false
        lastProgress = timer.now
        return curl_easy_pause(handle.pointer, CURLPAUSE_CONT)
    }

    private func receive(_ head: ResponseHeadParser.Head) -> Bool {
        guard head.status >= 200 else {
            if head.status != 100 { receiver.originDidAnswerInterim(originHead(head)) }
            return true
        }
        closeWhereUnclean(head)
        if head.isChunked { chunks = ChunkedFraming(.ofAnswers) }
        if head.status >= 300, let body = request.body {
            // The origin does not want the rest of the body (RFC 9110 §10.1.1, RFC 9112 §9.5).
            body.close()
            if isHolding { control.wake() }
        }
        if request.mayBeRedirected, [301, 302, 303, 307, 308].contains(head.status) {
            let locations = Set(head.fields[fields: .location].map { $0.withUnsafeBytesOfValue(Array.init) })
            guard locations.count < 2 else {
                failure = .redirectInvalid("the two Location fields differ")
                return false
            }
            redirection = locations.first
            if redirection != nil { return true }
        }
        let head = originHead(head)
        answered.note(self)
        guard head.framing == .chunked else { return deliver(head) }
        heldHead = head
        return true
    }

    /// Delivers the head that was held back, if there is one. `false` stops the transfer, and ``failure`` gives the
    /// reason.
    func deliverHeldHead() -> Bool {
        guard let head = heldHead else { return true }
        heldHead = nil
        return deliver(head)
    }

    /// Makes libcurl close the connection after the response, when more bytes may follow, or when the connection is
    /// authenticated for this caller.
    private func closeWhereUnclean(_ head: ResponseHeadParser.Head) {
        if head.version == "2" {
            connection?.isMultiplexed = true
            return
        }
        let hasContent = head.allowsBody && request.method != .head && (head.isChunked || head.contentLength != 0)
        // Many servers answer HEAD with the body of GET, which arrives later. Over TLS the bytes of an unexpected body
        // cannot be counted.
        let mayHaveMore = request.method == .head || (!hasContent && url.scheme == "https")
        if mayHaveMore || head.authenticatesConnection { closeAfterwards() }
    }

    /// Makes libcurl close the connection after the complete response.
    func closeAfterwards() {
        if let handle { closeAfterwards(handle) }
    }

    func closeAfterwards(_ handle: EasyHandle) {
        handle.set(CURLOPT_FORBID_REUSE, 1)
    }

    private func originHead(_ head: ResponseHeadParser.Head) -> OriginHead {
        let isLengthTold = codings(of: head.fields).isEmpty
        let hasBody = head.allowsBody && request.method != .head
        let framing: OriginFraming =
            if !hasBody { .noBody } else if head.version == "2" { .stream } else if head.isChunked {
                .chunked
            } else if head.contentLength != nil { .length } else { .close }
        return OriginHead(
            status: head.status, fields: head.fields, effectiveURL: url.text,
            declaredLength: !head.allowsBody ? 0 : isLengthTold ? head.contentLength : nil, framing: framing,
            version: head.version)
    }

    /// Delivers a head made of libcurl's data about the file, because FTP has no head.
    func answerFTP() -> Bool {
        phase = .receiving
        let length = handle?.info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        var fields = HTTPFields()
        fields[.contentLength] = length.map { String($0) }
        if let time = handle?.info(CURLINFO_FILETIME_T) { fields[.lastModified] = Timestamp(seconds: time).httpDate }
        answered.note(self)
        return deliver(
            OriginHead(
                status: 200, fields: fields, effectiveURL: url.text, declaredLength: length, framing: .ftp,
                version: "ftp"))
    }

    private func deliver(_ head: OriginHead) -> Bool {
        if head.framing != .noBody, let length = head.declaredLength, length > request.sizeLimit {
            failure = .tooLarge(limit: request.sizeLimit)
            return false
        }
        answer = head
        return tell { try receiver.originDidAnswer(head) }
    }

    private func tell(_ call: () throws -> Void) -> Bool {
        do {
            try call()
            return true
        } catch {
            failure = .receiver(error)
            return false
        }
    }
}
