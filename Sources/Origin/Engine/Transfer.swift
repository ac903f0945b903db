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
    var sockets: ConnectionSockets?
    private(set) var byteCount: Int64 = 0
    private(set) var answer: OriginHead?
    /// From the first byte of the answer's body on.
    private(set) var decoding: ContentDecoding?

    // The current try; `begin` resets it.
    private(set) var phase = Phase.idle
    private(set) var lastProgress: Instant
    /// Whether libcurl was told to pause, because a body is held back or more of the request's is awaited: who waits
    /// for whom is then not for the origin to end.
    private(set) var isHolding = false
    private var parser = ResponseHeadParser(allowsHTTP2: false)
    /// Where the answer that is being received redirects to.
    private(set) var redirection: String?
    private var redirectBodyLeft = 0
    /// The sockets that were opened since the try began, or since its request went out.
    private(set) var opened: [curl_socket_t] = []
    private(set) var refusal: String?
    /// Whether the refused address is that of a connection that was there already.
    private(set) var isRefusedReuse = false
    /// Whether the connection that was to be used again had more to say about the request before: that would be taken
    /// for the answer to this one, and libcurl 7.88 does not look. With TLS there may be input that is no answer.
    private(set) var hasLeftover = false
    /// What was found wrong in a callback, which then stopped libcurl.
    private(set) var failure: OriginError.Kind?

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
        timeLeft = configuration.totalTimeout
        stallTimeout = configuration.stallTimeout
        self.timer = timer
        self.answered = answered
        queuedAt = timer.now
        lastProgress = timer.now
    }

    var id: UInt64 { control.id }
    var isFTP: Bool { url.scheme == "ftp" }

    /// A new try, or hop, begins.
    func begin() {
        phase = .connecting
        lastProgress = timer.now
        isHolding = false
        parser = ResponseHeadParser(allowsHTTP2: url.scheme == "https")
        redirection = nil
        redirectBodyLeft = 65_536
        opened = []
        refusal = nil
        isRefusedReuse = false
        hasLeftover = false
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
        let use: AddressPolicy.Use = isFTP && phase != .connecting ? .data(controlPort: url.port) : .request
        let reason =
            ownSockets.refusal(of: ip, port: port) ?? policy.refusal(of: ip, port: port, host: url.host, for: use)
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
        let isReuse = opened.isEmpty
        let ends = ConnectionSockets.Ends(address: address, port: port, localPort: localPort)
        if url.scheme == "http" {
            if isReuse {
                hasLeftover = sockets?.hasInput(ends) == true
                if hasLeftover { return false }
            } else {
                sockets?.opened(opened, ends)
            }
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
        do throws(ResponseHeadParser.Malformed) {
            return try parser.consume(line).map(receive) ?? true
        } catch {
            failure = .malformedResponse(error.reason)
            return false
        }
    }

    /// What becomes of a piece of the body.
    enum Reception {
        case taken
        /// libcurl keeps the piece, and brings it again when it is told to go on.
        case held
        case failed
    }

    /// A piece of the body.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        lastProgress = timer.now
        if redirection != nil {
            // Reading a little lets the connection be used again; a long body costs more than a new connection.
            redirectBodyLeft -= bytes.count
            return redirectBodyLeft >= 0 ? .taken : .failed
        }
        if isFTP && answer == nil && !answerFTP() { return .failed }
        if bytes.isEmpty { return .taken }
        if control.isPaused {
            isHolding = true
            return .held
        }
        do {
            let decoding = try decoding ?? makeDecoding()
            self.decoding = decoding
            try decoding.decode(bytes, into: deliver)
            return .taken
        } catch let error as ContentCodingError {
            failure = .contentCoding(error.reason)
        } catch is ContentDecoding.TooLong {
            failure = .tooLarge(limit: request.sizeLimit)
        } catch {
            failure = .receiver(error)
        }
        return .failed
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

    private func makeDecoding() throws -> ContentDecoding {
        let codings = request.decodesContent ? ContentCoding.names(in: answer?.fields ?? [:]) : []
        return try ContentDecoding(names: codings, sizeLimit: request.sizeLimit)
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) throws {
        byteCount += Int64(bytes.count)
        guard byteCount <= request.sizeLimit else { throw ContentDecoding.TooLong() }
        try receiver.originDidSend(bytes)
    }

    private func receive(_ head: ResponseHeadParser.Head) -> Bool {
        guard head.status >= 200 else {
            if head.status != 100 { receiver.originDidAnswerInterim(originHead(head)) }
            return true
        }
        if head.status >= 300, let body = request.body {
            // The origin does not want the rest, if there is any (RFC 9110 §10.1.1, RFC 9112 §9.5).
            body.close()
            if isHolding { control.wake() }
        }
        if request.mayBeRedirected, [301, 302, 303, 307, 308].contains(head.status) {
            let locations = Set(head.fields[values: .location])
            guard locations.count < 2 else {
                failure = .redirectInvalid("there are two Location fields that differ")
                return false
            }
            redirection = locations.first
            if redirection != nil { return true }
        }
        return deliver(originHead(head))
    }

    private func originHead(_ head: ResponseHeadParser.Head) -> OriginHead {
        let isLengthTold = !request.decodesContent || ContentCoding.names(in: head.fields).isEmpty
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
