import Foundation
import HTTPTypes
import Origin
import Primitives

/// Calls the API of a Larder server. Calls throw ``ClientError``. The client uses ``OriginClient``, which keeps
/// connections open and streams bodies in both directions. It follows no redirects and uses no proxies.
package final class APIClient: Sendable {
    package struct Configuration: Sendable {
        package var server: ServerAddress
        package var token: BearerToken?
        /// `nil`: the token's own namespace, else `default`.
        package var namespace: String?
        package var certificateAuthorityFile: String?
        /// The time without a byte from the server after which a call fails. Two hours by default, because a download
        /// may take an hour, and TCP itself detects a machine that is gone.
        package var silenceLimit: Duration = .seconds(7200)

        package init(server: ServerAddress) {
            self.server = server
        }
    }

    package let configuration: Configuration
    private let engine: OriginClient

    /// Starts the client's thread, and sends no request yet.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        var engine = OriginConfiguration()
        // The user of this client chose the server's address, so no address is refused.
        engine.addressPolicy = AddressPolicy(allowing: [.everything])
        engine.certificateAuthorityFile = configuration.certificateAuthorityFile
        engine.stallTimeout = configuration.silenceLimit
        engine.totalTimeout = .seconds(365 * 86_400)
        // No retries, because the caller must learn without delay that the server cannot be reached.
        engine.retry = .never
        engine.threads = 1
        engine.userAgent = "larder"
        self.engine = OriginClient(configuration: engine)
    }

    /// Passes the response to `body` as soon as the head has arrived. Cancels the transfer when `body` returns.
    package func withResponse<Value>(
        to call: APICall, _ body: (APIResponse) async throws -> Value
    ) async throws -> Value {
        let incoming = IncomingResponse()
        let request = request(for: call)
        incoming.attach(engine.fetch(request, receiver: incoming))
        defer { incoming.cancel() }
        if case .descriptor(let descriptor, _, _) = call.body, let upload = request.body {
            upload.feed(from: descriptor)
        }
        return try await body(try await APIResponse(incoming, server: configuration.server))
    }

    /// Returns the whole response. Throws also for a status other than success.
    package func send(_ call: APICall) async throws -> APIReply {
        try await withResponse(to: call) { response in
            try await response.checkStatus()
            return APIReply(status: response.status, body: try await response.collect())
        }
    }

    private func request(for call: APICall) -> OriginRequest {
        var request = OriginRequest(url: configuration.server.description + call.target)
        request.method = call.method
        request.fields = call.fields
        request.fields[.authorization] = configuration.token?.credentials
        request.fields[Self.namespaceField] = configuration.namespace
        request.followsRedirects = false
        request.fields[.contentType] = call.body?.type
        switch call.body {
        case nil: break
        case .bytes(let bytes, _):
            let upload = OriginUpload(length: Int64(bytes.count))
            upload.write(SharedBytes(bytes))
            upload.finish()
            request.body = upload
        case .descriptor(_, let length, _): request.body = OriginUpload(length: length)
        }
        return request
    }

    private static let namespaceField = HTTPField.Name("Larder-Namespace")!
}

/// A call of the API. A value can be sent only once, because its body may be a pipe.
package struct APICall: Sendable {
    /// Names and values, not encoded. Names with a `nil` value are left out.
    package typealias Query = [(name: String, value: String?)]

    package enum Body: Sendable {
        case bytes([UInt8], type: String)
        /// `length` bytes of an open descriptor (`nil`: all to the end). The caller closes the descriptor.
        case descriptor(Int32, length: Int64?, type: String)

        var type: String {
            switch self {
            case .bytes(_, let type), .descriptor(_, _, let type): type
            }
        }
    }

    package let method: HTTPRequest.Method
    /// The encoded path and query, which follow the server's address.
    package let target: String
    package var fields: HTTPFields
    package var body: Body?

    /// The segments of the path are not encoded: `["entries", key, "content"]`.
    package init(
        _ method: HTTPRequest.Method, _ path: [String], query: Query = [], fields: HTTPFields = [:], body: Body? = nil
    ) {
        self.method = method
        self.fields = fields
        self.body = body
        var parameters = URLParameters()
        for (name, value) in query {
            if let value { parameters.append(name, value) }
        }
        let text = parameters.formEncoded
        target = path.map { "/" + URLPath.escapedSegment($0) }.joined() + (text.isEmpty ? "" : "?" + text)
    }

    package init(_ path: [String], query: Query = [], fields: HTTPFields = [:]) {
        self.init(.get, path, query: query, fields: fields)
    }

    package static func post(_ json: JSON, to path: [String], fields: HTTPFields = [:]) -> APICall {
        APICall(.post, path, fields: fields, body: .bytes(json.utf8, type: "application/json"))
    }

    package static func put(_ json: JSON, to path: [String]) -> APICall {
        APICall(.put, path, body: .bytes(json.utf8, type: "application/json"))
    }
}

/// The address of a Larder server, as in `LARDER_SERVER`: scheme, host, port, and the path at a proxy, if any.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// Omits the refused address, because the address may contain a password.
        package let description: String

        init(_ reason: String) {
            description = "invalid server address: \(reason)"
        }
    }

    /// Without a final slash: `http://127.0.0.1:8080`.
    package let description: String

    /// Reads an absolute URL with the scheme `http` or `https`, without credentials and query. Throws ``Invalid``.
    package init(_ text: String) throws(Invalid) {
        let url = try Result { () throws(InvalidURL) in try CanonicalURL(text) }
            .mapError { Invalid($0.description) }.get()
        guard url.scheme == "http" || url.scheme == "https", url.query == nil else {
            throw Invalid("expected an address such as http://127.0.0.1:8080")
        }
        var address = url.requestURL[...]
        while address.last == "/" { address.removeLast() }
        description = String(address)
    }
}

/// A token, as `larder token create` prints it. Its text appears only in the `Authorization` field of requests.
package struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    let credentials: String

    /// Trims white space. `nil` when the text is empty or has characters that a header field may not contain.
    package init?(_ text: String) {
        let token = text.trimming(while: \.isWhitespace)
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        credentials = "Bearer \(token)"
    }

    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension OriginUpload {
    /// Reads a file, a pipe or a terminal on a separate thread, as fast as the connection sends the content.
    fileprivate func feed(from descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return fail() }
                guard count > 0 else { return finish() }
                switch write(SharedBytes(buffer[..<count])) {
                case .room: break
                case .closed: return
                case .full:
                    let room = DispatchSemaphore(value: 0)
                    onRoom { room.signal() }
                    room.wait()
                }
            }
        }
    }
}
