import CCurl
import HTTPTypes

extension Transfer {
    /// Whether the current hop, over HTTP/1.1, sets no options except the URL, the target and the fields. Its handle
    /// can then serve another request.
    var isPlain: Bool {
        url.scheme == "http" && request.method == .get && request.body == nil && !needsOwnConnection
            && !request.mayBeRedirected
    }

    /// Sets the options of an HTTP request: its method, target, fields and body.
    func configureRequest(_ handle: EasyHandle, _ configuration: OriginConfiguration) {
        var fields = fields
        // The framing fields of a missing or different body would make the origin wait for bytes, or take the next
        // request for the body.
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        var unaided: [HTTPField.Name] = []
        if request.addsDefaultFields {
            handle.set(CURLOPT_USERAGENT, configuration.userAgent)
            // The coding is a plain field, because CURLOPT_ACCEPT_ENCODING would make libcurl decode (see
            // `ContentDecoder`).
            if request.decodesContent && fields[.acceptEncoding] == nil {
                // A file that is itself compressed is requested without codings.
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
            // HTTP/2 connections are shared, and do not accept such credentials (RFC 7540 §9.2).
            handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            closeAfterwards(handle)
        }
        if request.body != nil || !request.method.isIdempotent {
            // When a reused connection turns out to be closed, libcurl itself sends the request again, even a request
            // that must not be repeated, and only the part of a body that it had not read yet.
            handle.set(CURLOPT_FRESH_CONNECT, 1)
            closeAfterwards(handle)
        }
        if request.mayBeRedirected { configureCookies(handle, &fields) }
        handle.setFields(fields, unaided: unaided)
    }

    /// Sets the options of a body; returns the names of the fields that libcurl must leave alone.
    private func configure(
        _ body: OriginUpload, _ handle: EasyHandle, _ fields: inout HTTPFields
    ) -> [HTTPField.Name] {
        handle.set(CURLOPT_UPLOAD, 1)
        // An HTTP/2 stream that breaks off looks like a complete stream.
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
        // libcurl would wait for 100 and repeat the request after 417. It would also put the chunks of `OriginUpload`
        // into chunks again.
        return [.expect, .transferEncoding]
    }
}
