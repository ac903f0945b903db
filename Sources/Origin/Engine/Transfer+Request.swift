import CCurl
import Glibc
import HTTPTypes

extension Transfer {
    /// Whether the request uses HTTP/1.1 and only the options URL, target and fields, so that its handle can be reused.
    var isPlain: Bool {
        url.scheme == "http" && request.method == .get && request.body == nil && !needsOwnConnection
            && !request.mayBeRedirected && request.mayRepeat
    }

    /// Sets the options of the next request on a handle that has the common options, and directs its callbacks to this
    /// transfer. The handle does not retain the user data; the loop keeps the transfer while its handle is in use.
    func configure(_ handle: EasyHandle) {
        self.handle = handle
        handle.set(CURLOPT_URL, url.text)
        // Transfers that start together share one HTTP/2 connection instead of opening one each. Without TLS they would
        // wait for the first response, only to learn that the connection cannot be shared.
        if url.scheme == "https" { handle.set(CURLOPT_PIPEWAIT, 1) }
        if isFTP {
            handle.set(CURLOPT_FILETIME, 1)
            resources.ftpSockets.track(handle)
        } else {
            configureRequest(handle)
        }
        let this = Unmanaged.passUnretained(self).toOpaque()
        for data in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA] {
            handle.set(data, pointer: this)
        }
        larder_curl_setopt_write(handle.pointer, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            switch Transfer.from(this).receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
            case .taken: size * count
            case .held: Int(CURL_WRITEFUNC_PAUSE)
            case .failed: Int(CURL_WRITEFUNC_ERROR)
            }
        }
        larder_curl_setopt_write(handle.pointer, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            let isTaken = Transfer.from(this).receiveLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
            return isTaken ? size * count : Int(CURL_WRITEFUNC_ERROR)
        }
        larder_curl_setopt_opensocket(handle.pointer) { this, _, address in
            Transfer.from(this).openSocket(address!)
        }
        larder_curl_setopt_prereq(handle.pointer) { this, address, _, port, localPort in
            let mayGoOut = Transfer.from(this).willSendRequest(
                to: address.map { String(cString: $0) } ?? "", port: port, localPort: localPort)
            return mayGoOut ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(pointer!).takeUnretainedValue()
    }

    private func configureRequest(_ handle: EasyHandle) {
        var fields = fields
        // With values that do not fit the body, the origin would wait, or take the next request for the body.
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        var unaided: [HTTPField.Name] = []
        if request.addsDefaultFields {
            handle.set(CURLOPT_USERAGENT, configuration.userAgent)
            // `ContentDecoder` decodes. CURLOPT_ACCEPT_ENCODING would make libcurl decode.
            if request.decodesContent && fields[.acceptEncoding] == nil {
                // For a file that is itself compressed, the origin is asked to apply no coding.
                let isCompressed = CompressedFile(urls: [request.url, url.text]).isCompressed
                fields[.acceptEncoding] = isCompressed ? "identity" : ContentCoding.accepted
            }
        } else if fields[.accept] == nil {
            unaided.append(.accept)
        }
        if let target = requestTarget { handle.set(CURLOPT_REQUEST_TARGET, target) }
        if let body = request.body { unaided += configure(body, handle, &fields) }
        if request.method == .head {
            handle.set(CURLOPT_NOBODY, 1)
        } else if request.method != .get || request.body != nil {
            handle.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
        if needsOwnConnection { handle.set(CURLOPT_FRESH_CONNECT, 1) }
        if request.isForOneConnection {
            // HTTP/2 connections are shared, so they do not accept the authentication of a connection (RFC 7540 §9.2).
            handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            closeAfterwards()
        }
        if request.body != nil || !request.isRepeatable {
            // When a reused connection turns out to be closed, libcurl itself sends the request again. It does so even
            // for a request that must not be repeated, and it sends only the unread part of the body.
            handle.set(CURLOPT_FRESH_CONNECT, 1)
            closeAfterwards()
        }
        if request.mayBeRedirected { configureCookies(handle, &fields) }
        handle.setFields(fields, unaided: unaided)
    }

    /// Sets the options of a body; returns the names of the fields that libcurl must neither add nor act on.
    private func configure(
        _ body: OriginUpload, _ handle: EasyHandle, _ fields: inout HTTPFields
    ) -> [HTTPField.Name] {
        handle.set(CURLOPT_UPLOAD, 1)
        // Over HTTP/2, the origin would take a body that breaks off for complete.
        handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        handle.set(CURLOPT_READDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        larder_curl_setopt_read(handle.pointer) { buffer, size, count, this in
            Transfer.from(this).readUpload(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        }
        if let length = body.length {
            handle.set(CURLOPT_INFILESIZE_LARGE, offset: length)
        } else {
            fields[.transferEncoding] = "chunked"
        }
        // libcurl would wait for 100, repeat the request after 417, and put chunks around the chunks of `OriginUpload`.
        return [.expect, .transferEncoding]
    }
}

// Cookies within a chain of redirects (RFC 6265 §3). libcurl's cookie engine decides which cookie belongs to which
// path. The transfer carries the cookies from request to request. Only requests that may be redirected use the engine;
// their handles are never reused. A cookie returns only to its origin (stricter than RFC 6265 §8.5 and §8.6).
extension Transfer {
    /// Gives the handle the cookies of the earlier responses and the caller's `Cookie`. Removes `Cookie` from `fields`,
    /// because the engine writes this field and a second one would be sent.
    private func configureCookies(_ handle: EasyHandle, _ fields: inout HTTPFields) {
        // An empty file name turns the engine on.
        handle.set(CURLOPT_COOKIEFILE, "")
        for cookie in cookies[url.origin] ?? [] { handle.set(CURLOPT_COOKIELIST, bytes: cookie) }
        if let own = fields[fields: .cookie].first {
            handle.set(CURLOPT_COOKIE, bytes: own.withUnsafeBytesOfValue { $0.map(CChar.init(bitPattern:)) } + [0])
            fields[.cookie] = nil
        }
    }

    func keepCookies() {
        guard !isFTP, request.mayBeRedirected, let handle else { return }
        cookies[url.origin] = handle.cookies
    }
}

extension Transfer {
    /// Identifies a caller: equal for requests with the same credentials; `nil` for a request without credentials.
    var caller: Int? {
        var hasher = Hasher()
        var isKnown = false
        for field in fields where field.name.mayHaveCredentials {
            isKnown = true
            hasher.combine(field.name)
            field.withUnsafeBytesOfValue { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
        if let cookies = cookies[url.origin], !cookies.isEmpty {
            isKnown = true
            hasher.combine(cookies)
        }
        return isKnown ? hasher.finalize() : nil
    }
}

extension HTTPField.Name {
    fileprivate var mayHaveCredentials: Bool {
        self == .authorization || self == .cookie || self == .proxyAuthorization
            || Self.credentialWords.contains(where: canonicalName.contains)
    }

    private static let credentialWords: [StaticString] = ["auth", "token", "key", "secret", "session"]
}

extension String {
    /// Compares bytes, because Foundation's `contains` took a tenth of the time of a cache miss.
    fileprivate func contains(_ word: StaticString) -> Bool {
        var text = self
        let length = word.utf8CodeUnitCount
        return text.withUTF8 { bytes in
            (0..<max(0, bytes.count - length + 1)).contains {
                memcmp(bytes.baseAddress! + $0, word.utf8Start, length) == 0
            }
        }
    }
}
