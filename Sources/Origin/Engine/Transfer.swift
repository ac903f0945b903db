import CCurl
import Glibc
import HTTPTypes
import Primitives

/// One transfer, from its first URL to its end: the hop it is at, and what libcurl's callbacks find out.
///
/// Confined to one of the client's threads; the callbacks run there, too, inside `curl_multi_perform`.
final class Transfer {
    typealias Instant = LoopTimer.Instant

    /// What the transfer waits for.
    enum Phase {
        /// Its turn, or the pause before the next try.
        case idle
        case connecting
        /// The request is being sent; nothing of the answer came.
        case waiting
        case receiving
    }

    /// The caller's end of it.
    let control: OriginTransfer
    let request: OriginRequest
    let receiver: any OriginReceiver
    private let policy: AddressPolicy
    private let ownSockets: OwnSockets
    private let stallTimeout: Duration
    private let timer: LoopTimer
    private let answered: AnsweredTransfers

    // The transfer as a whole.
    var url: OriginURL
    var fields: HTTPFields
    /// The target of the current hop, when it is not the URL's.
    var requestTarget: String?
    var redirectCount = 0
    var failedTries = 0
    /// Whether it opens a connection of its own: one that was there is to where this request may not go.
    var needsOwnConnection = false
    /// What is left of the total time, as of `startedAt`.
    var timeLeft: Duration
    /// When it got its turn; `nil` while it waits in the queue.
    var startedAt: Instant?
    /// Since when it has waited for its turn, when it has not started.
    var queuedAt: Instant
    /// When the pause before the next try ends.
    var retryAt: Instant?
    var handle: EasyHandle?
    var ftpSockets: FTPSockets?
    var connections: OriginConnections?
    /// The cookies that the hops so far have set, by their origin, as libcurl keeps them (see `Transfer+Cookies`).
    var cookies: [String: [[CChar]]] = [:]
    var byteCount: Int64 = 0
    private(set) var answer: OriginHead?
    /// From the first byte of the answer's body on.
    var decoding: ContentDecoding?

    // The current try; `begin` resets it.
    private(set) var phase = Phase.idle
    var lastProgress: Instant
    /// Whether libcurl was told to pause, because a body is held back or more of the request's is awaited: who waits
    /// for whom is then not for the origin to end.
    var isHolding = false
    private var parser = ResponseHeadParser(allowsHTTP2: false)
    /// The framing of the answer's body, when it comes in chunks.
    var chunks: ChunkedFraming?
    /// How many bytes of the piece that libcurl holds were read already.
    var heldCount = 0
    /// The head of an answer in chunks, until its first chunk has begun well or libcurl has read all there is: a
    /// caller that has seen the head can no longer be told that the framing is wrong from the beginning.
    private(set) var heldHead: OriginHead?
    /// Where the answer that is being received redirects to, byte for byte.
    private(set) var redirection: [UInt8]?
    var redirectBodyLeft = 0
    /// The sockets that were opened since the try began, or since its request went out.
    private(set) var opened: [curl_socket_t] = []
    /// The connection that carries the try; `nil` before it is known, and for FTP.
    private(set) var connection: OriginConnection?
    /// The other end of FTP's control connection.
    private var controlAddress: IPAddress?
    private(set) var refusal: String?
    /// Whether the try went out over a connection that was there already.
    private(set) var isReuse = false
    /// Whether the refused address is that of a connection that was there already.
    private(set) var isRefusedReuse = false
    /// Whether the connection that was to be used again may not carry the request (see
    /// ``OriginConnection/carries(_:)``).
    private(set) var isUncleanReuse = false
    /// Whether any line of an answer's head was one.
    private(set) var hasHead = false
    /// What was found wrong in a callback, which then stopped libcurl.
    var failure: OriginError.Kind?

    init(
        control: OriginTransfer, request: OriginRequest, receiver: any OriginReceiver, url: OriginURL,
        configuration: OriginClient.Configuration, timer: LoopTimer, answered: AnsweredTransfers
    ) {
        self.control = control
        self.request = request
        self.receiver = receiver
        self.url = url
        fields = request.fields
        requestTarget = request.requestTarget
        policy = request.addressPolicy ?? configuration.addressPolicy
        ownSockets = configuration.ownSockets
        // The origin would take later requests on the connection for requests of this caller.
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

    /// A new try, or hop, begins.
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

    /// The try is over: what comes next is decided by whoever called this.
    func pause() {
        phase = .idle
    }

    // MARK: What libcurl calls

    /// Before a connection is opened: the address policy, which is not asked for a connection that is used again.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        let target = larder_curl_address(address)!
        guard let ip = IPAddress(target) else {
            refusal = refusal ?? "its address is neither IPv4 nor IPv6"
            return CURL_SOCKET_BAD
        }
        // sin_port and sin6_port are at the same place.
        let port = UInt16(bigEndian: UnsafeRawPointer(target).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        // FTP asks on its first connection, and has its data come by the next.
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

    /// The connection is there, new or used again, and the request goes out. From now on a refused address is that of
    /// an FTP data connection.
    ///
    /// Who opened a connection that is used again may have been allowed more than this request is.
    ///
    /// - Parameters:
    ///   - address: the connection's other end, as text.
    ///   - localPort: of this end.
    /// - Returns: whether the request may go out there.
    func willSendRequest(to address: String, port: Int32, localPort: Int32) -> Bool {
        phase = .waiting
        lastProgress = timer.now
        // The limit for a stall begins to count, and may end before anything that was noted.
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

    /// One line of a head, or of a trailer. `false` stops libcurl.
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

    /// libcurl can send more of the request's body.
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

    /// Lets libcurl go on with what it was told to hold; who still has to wait is told to hold it again. The receiver
    /// may be called from within. Returns what libcurl says.
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
            // The origin does not want the rest, if there is any (RFC 9110 §10.1.1, RFC 9112 §9.5).
            body.close()
            if isHolding { control.wake() }
        }
        if request.mayBeRedirected, [301, 302, 303, 307, 308].contains(head.status) {
            let locations = Set(head.fields[fields: .location].map { $0.withUnsafeBytesOfValue(Array.init) })
            guard locations.count < 2 else {
                failure = .redirectInvalid("there are two Location fields that differ")
                return false
            }
            redirection = locations.first
            if redirection != nil { return true }
        }
        let head = originHead(head)
        guard head.framing == .chunked else { return deliver(head) }
        heldHead = head
        answered.note(self)
        return true
    }

    /// Shows the receiver the head that was held back, if any. False stops the transfer, and ``failure`` says why.
    func deliverHeldHead() -> Bool {
        guard let head = heldHead else { return true }
        heldHead = nil
        return deliver(head)
    }

    /// Has libcurl close the connection behind an answer after which more may come, or that is not for the next caller.
    private func closeWhereUnclean(_ head: ResponseHeadParser.Head) {
        if head.version == "2" {
            connection?.isMultiplexed = true
            return
        }
        let hasContent = head.allowsBody && request.method != .head && (head.isChunked || head.contentLength != 0)
        // Many servers answer HEAD with the body of GET, which comes at some time. Over TLS the bytes of an
        // unexpected body cannot be counted.
        let mayHaveMore = request.method == .head || (!hasContent && url.scheme == "https")
        if mayHaveMore || head.authenticatesConnection { closeAfterwards() }
    }

    /// Has libcurl close the connection when the answer is complete.
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

    /// FTP has no head: what libcurl knows of the file stands for it.
    func answerFTP() -> Bool {
        phase = .receiving
        let length = handle?.info(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        var fields = HTTPFields()
        fields[.contentLength] = length.map { String($0) }
        if let time = handle?.info(CURLINFO_FILETIME_T) { fields[.lastModified] = Timestamp(seconds: time).httpDate }
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
        answered.note(self)
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
