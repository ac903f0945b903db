import CCurl
import Glibc
import HTTPTypes
import Primitives

/// An easy handle of libcurl, for one try of one transfer at a time. Only one thread of the client uses it. The handle
/// does not retain the user data of its callbacks: ``TransferLoop`` keeps the transfer while its handle is in use.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let words: UnsafeMutablePointer<CChar>
    private var fieldLines: UnsafeMutablePointer<curl_slist>?
    private var lookUps: UnsafeMutablePointer<curl_slist>?

    init() {
        guard let pointer = curl_easy_init() else { fatalError("libcurl is out of memory") }
        self.pointer = pointer
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.pointee = 0
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(fieldLines)
        curl_slist_free_all(lookUps)
        words.deallocate()
    }

    /// Resets the options that a plain request (``Transfer/isPlain``) has set.
    func forgetRequest() {
        words.pointee = 0
        for data in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA] {
            set(data, pointer: nil)
        }
        set(CURLOPT_USERAGENT, nil)
        set(CURLOPT_REQUEST_TARGET, nil)
        set(CURLOPT_FORBID_REUSE, 0)
        check(larder_curl_setopt_slist(pointer, CURLOPT_HTTPHEADER, nil), CURLOPT_HTTPHEADER)
        curl_slist_free_all(fieldLines)
        fieldLines = nil
    }

    /// libcurl's description of the last error; empty when there is none.
    var errorWords: String { String(cString: words) }

    func set(_ option: CURLoption, _ value: Int) {
        check(larder_curl_setopt_long(pointer, option, value), option)
    }

    func set(_ option: CURLoption, _ value: String?) {
        check(larder_curl_setopt_string(pointer, option, value), option)
    }

    /// Sets an option to the bytes of a text, which must end with a NUL.
    func set(_ option: CURLoption, bytes value: [CChar]) {
        value.withUnsafeBufferPointer { check(larder_curl_setopt_string(pointer, option, $0.baseAddress), option) }
    }

    func set(_ option: CURLoption, offset value: Int64) {
        check(larder_curl_setopt_off_t(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        check(larder_curl_setopt_pointer(pointer, option, value), option)
    }

    /// Sets the options of all requests. libcurl then ignores proxies and configuration files of the user.
    func setCommonOptions(_ configuration: OriginConfiguration) {
        set(CURLOPT_ERRORBUFFER, pointer: words)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "*")
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_FOLLOWLOCATION, 0)
        let schemes = configuration.schemes.intersection(OriginConfiguration.possibleSchemes).sorted()
        set(CURLOPT_PROTOCOLS_STR, schemes.joined(separator: ","))
        set(CURLOPT_REDIR_PROTOCOLS_STR, schemes.joined(separator: ","))
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        // libcurl leaves the chunks in the body, and `ChunkedFraming` reads them.
        set(CURLOPT_HTTP_TRANSFER_DECODING, 0)
        // Without this option, ending a transfer during a DNS look-up blocks until the resolver gives up.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_BUFFERSIZE, 65_536)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.forCurl)
        // The limit for FTP replies on the control connection; libcurl's default is two minutes.
        set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(configuration.stallTimeout.inSeconds.rounded(.up))))
        if let file = configuration.certificateAuthorityFile {
            // libcurl also uses its default CURLOPT_CAPATH, which is Debian's directory of the system's authorities.
            set(CURLOPT_CAINFO, file)
        } else {
            // The default file has the same authorities. Without a directory, libcurl parses the file only once.
            set(CURLOPT_CAPATH, nil)
        }
        for lookUp in configuration.lookUps { lookUps = curl_slist_append(lookUps, lookUp) }
        if let lookUps { check(larder_curl_setopt_slist(pointer, CURLOPT_RESOLVE, lookUps), CURLOPT_RESOLVE) }
    }

    /// For the names in `unaided`, libcurl adds no line of its own, and does not act on a line in `fields`.
    func setFields(_ fields: HTTPFields, unaided: [HTTPField.Name]) {
        // A line without a value is not sent. libcurl acts on the first line of a name, so here on an empty value.
        for name in unaided { fieldLines = curl_slist_append(fieldLines, "\(name.rawName):") }
        for field in fields {
            let line = field.withUnsafeBytesOfValue { value in
                // `Name;` is libcurl's syntax for an empty value. `Name:` would remove the field.
                Array(field.name.rawName.utf8) + (value.isEmpty ? [0x3b] : [0x3a, 0x20] + value) + [0]
            }
            line.withUnsafeBytes {
                fieldLines = curl_slist_append(fieldLines, $0.assumingMemoryBound(to: CChar.self).baseAddress)
            }
        }
        check(larder_curl_setopt_slist(pointer, CURLOPT_HTTPHEADER, fieldLines), CURLOPT_HTTPHEADER)
    }

    /// `nil` when libcurl does not have the number.
    func info(_ info: CURLINFO) -> Int64? {
        var value: curl_off_t = -1
        guard larder_curl_getinfo_off_t(pointer, info, &value) == CURLE_OK, value >= 0 else { return nil }
        return Int64(value)
    }

    /// The cookies of libcurl's cookie engine, each as a line in the Netscape file format, byte for byte.
    var cookies: [[CChar]] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard larder_curl_getinfo_slist(pointer, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
        defer { curl_slist_free_all(list) }
        return sequence(first: list) { $0?.pointee.next }.prefix { $0 != nil }
            .compactMap { $0?.pointee.data }
            .map { Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1)) }
    }

    private func check(_ code: CURLcode, _ option: CURLoption) {
        // `curl_easy_setopt` fails only without memory, or for a text over 8 MB.
        precondition(
            code == CURLE_OK, "curl_easy_setopt \(option.rawValue): \(String(cString: curl_easy_strerror(code)))")
    }
}

extension Duration {
    /// Milliseconds, at least 1, because 0 would mean "no limit" or "the default".
    fileprivate var forCurl: Int { Int(Swift.min(Swift.max(milliseconds, 1), Int64(Int32.max))) }
}

/// Keeps handles for later transfers, because a new handle costs a dozen allocations and thirty options. Only the
/// handles of plain requests (``Transfer/isPlain``) that got a response are kept. After a failed look-up, and after a
/// shared HTTP/2 connection, libcurl 7.88 leaves a buffer on the handle, which then refuses options. See also
/// ``LibcurlVersion/canReuseHandles``. Only one thread of the client uses an object.
struct IdleHandles {
    private let configuration: OriginConfiguration
    private var handles: [EasyHandle] = []
    /// The most idle handles: as many as ``OriginConfiguration/maxTransfersPerHost`` is by default. Each takes 6 KiB.
    private static let limit = 128

    init(_ configuration: OriginConfiguration) {
        self.configuration = configuration
    }

    /// Returns a handle on which only the common options are set.
    mutating func take() -> EasyHandle {
        if let handle = handles.popLast() { return handle }
        let handle = EasyHandle()
        handle.setCommonOptions(configuration)
        return handle
    }

    /// Keeps a handle after a plain request that got a response. The multi handle no longer contains it.
    mutating func keep(_ handle: EasyHandle) {
        guard LibcurlVersion.canReuseHandles, handles.count < Self.limit else { return }
        handle.forgetRequest()
        handles.append(handle)
    }
}

enum LibcurlVersion {
    /// From 7.83.0 on, libcurl keeps the fields of a response (`curl_easy_header`). From this version to 8.1.0, it
    /// appends a folded first field line to the freed last field of the handle's previous response (curl issue 11101).
    static let canReuseHandles: Bool = {
        let version = curl_version_info(CURLVERSION_FIRST).pointee.version_num
        return canReuseHandles(version: version, keepsFields: keepsFields)
    }()

    /// `version` is `0x075801` for 7.88.1. `keepsFields`: libcurl was built with `curl_easy_header`.
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

/// An HTTP connection, and the number of response bytes that were read from it. Only one thread of the client uses it.
/// A connection is reused only when no bytes follow its earlier responses, because libcurl would take such bytes for
/// the next response (RFC 9112 §6.3). libcurl drops such bytes when it reads them together with the response, and still
/// keeps the connection. Bytes that arrive after the next request was sent look like its response. So only requests
/// with the same credentials share a connection, and no response reaches another caller.
final class OriginConnection {
    private let descriptor: curl_socket_t
    private let localPort: UInt16
    private let isSecure: Bool
    /// The bytes of the heads and bodies of all responses that libcurl has delivered.
    private var readCount: UInt64 = 0
    /// Whether the connection carries HTTP/2 streams, which separate the responses.
    var isMultiplexed = false
    /// The caller of the requests on the connection; see ``Transfer/caller``.
    var caller: Int?

    init(_ descriptor: curl_socket_t, localPort: UInt16, isSecure: Bool) {
        self.descriptor = descriptor
        self.localPort = localPort
        self.isSecure = isSecure
    }

    func count(_ bytes: Int) { readCount += UInt64(bytes) }
    func carries(_ other: Int?) -> Bool { isMultiplexed || (other == caller && isClean) }

    /// Whether every received byte belongs to a response. Without TLS, the kernel's count decides, which includes bytes
    /// that libcurl dropped. Over TLS, any unread input gives `false`, because a needless new connection costs little.
    var isClean: Bool {
        // A connection that is in use before its first response can only be a connection with HTTP/2 streams.
        if isMultiplexed || (isSecure && readCount == 0) { return true }
        guard isOpen else { return false }
        if !isSecure {
            let received = larder_tcp_received(descriptor)
            if received.is_known { return received.bytes == readCount }
        }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
    }

    /// Whether the descriptor still belongs to this connection, and not to a later file or socket.
    var isOpen: Bool { SocketAddress.port(of: descriptor) == localPort }
}

/// The HTTP connections of a loop, by their ends, because libcurl's callbacks report only the ends of a reused
/// connection. A closed connection stays until its ends are reused or the table is full. Confined to a thread.
final class OriginConnections {
    /// The addresses and ports of a connection. Connections to different addresses can have the same local port.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: UInt16
    }

    private var connections: [Ends: OriginConnection] = [:]
    /// At this size the table drops its closed connections, which are then most of its connections.
    private static let limit = 4096

    /// Adds the connection that uses one of these new sockets; returns `nil` when it is closed already.
    func opened(_ descriptors: [curl_socket_t], _ ends: Ends, isSecure: Bool) -> OriginConnection? {
        if connections.count >= Self.limit { connections = connections.filter(\.value.isOpen) }
        let descriptor = descriptors.last { SocketAddress.port(of: $0) == ends.localPort }
        let connection = descriptor.map { OriginConnection($0, localPort: ends.localPort, isSecure: isSecure) }
        connections[ends] = connection
        return connection
    }

    func connection(_ ends: Ends) -> OriginConnection? { connections[ends] }
}

/// The sockets of FTP connections. The client shuts them down before it ends, because libcurl would send `QUIT` on an
/// idle control connection and wait for the reply. Only one thread of the client uses an object.
final class FTPSockets {
    private var open: Set<curl_socket_t> = []

    /// Adds a socket. Ignores -1, the result of a failed `socket`.
    func insert(_ descriptor: curl_socket_t) {
        if descriptor >= 0 { open.insert(descriptor) }
    }

    func interrupt() {
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Makes the handle report the sockets that it closes. This object exists until libcurl has closed all connections.
    func track(_ handle: EasyHandle) {
        handle.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        larder_curl_setopt_closesocket(handle.pointer) { this, descriptor in
            Unmanaged<FTPSockets>.fromOpaque(this!).takeUnretainedValue().open.remove(descriptor)
            return close(descriptor)
        }
    }
}
