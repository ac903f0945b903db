import CCurl
import HTTPTypes

extension Transfer {
    /// Whether its current hop sets no option but the URL, the target and the fields, over HTTP/1.1: after it the
    /// handle is good for another request.
    var isPlain: Bool {
        url.scheme == "http" && request.method == .get && request.body == nil && !needsOwnConnection
            && !request.mayBeRedirected
    }

    /// The options of an HTTP request: its method, target, fields and body.
    func configureRequest(_ handle: EasyHandle, _ configuration: OriginClient.Configuration) {
        var fields = fields
        // The framing of a body that is not there, or is another, would have the origin wait for bytes, or take the
        // next request for them.
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        var unaided: [HTTPField.Name] = []
        if request.addsDefaultFields {
            handle.set(CURLOPT_USERAGENT, configuration.userAgent)
            // As a field like any other: CURLOPT_ACCEPT_ENCODING would let libcurl decode (see `ContentDecoder`).
            if request.decodesContent && fields[.acceptEncoding] == nil {
                // A file that is compressed itself is asked for as it is.
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
            // A connection of HTTP/2 would be shared, and does not take such credentials (RFC 7540 §9.2).
            handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            closeAfterwards(handle)
        }
        if request.body != nil || !request.method.isIdempotent {
            // When a connection that is used again turns out to be closed, libcurl sends the request once more by
            // itself, also one that must not be, and of a body only the part that it had not read yet.
            handle.set(CURLOPT_FRESH_CONNECT, 1)
            closeAfterwards(handle)
        }
        if request.mayBeRedirected { configureCookies(handle, &fields) }
        handle.setFields(fields, unaided: unaided)
    }

    /// The fields to leave alone are returned.
    private func configure(
        _ body: OriginUpload, _ handle: EasyHandle, _ fields: inout HTTPFields
    ) -> [HTTPField.Name] {
        handle.set(CURLOPT_UPLOAD, 1)
        // A stream of HTTP/2 that ends too early looks like one that ended.
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
        // libcurl would wait for 100, and send the request again by itself after 417; it would make chunks of what is
        // in chunks already (see `OriginUpload`).
        return [.expect, .transferEncoding]
    }
}
