import HTTPTypes
import Origin
import Primitives

/// Calls the API of a Larder server. Calls throw ``ClientError``. The client uses the engine with which Larder contacts
/// origins: it keeps connections open, and streams bodies in both directions. It follows no redirects and uses no
/// proxies.
package final class APIClient: Sendable {
    package struct Configuration: Sendable {
        package var server: ServerAddress
        /// For all calls; `nil`: none.
        package var token: BearerToken?
        /// `nil`: the token's own, else `default`.
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
        // No retries, because the caller shall learn at once that the server cannot be reached.
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
            UploadFeed.start(upload, from: descriptor)
        }
        return try await body(try await APIResponse(incoming, server: configuration.server))
    }

    /// Returns the whole response. Throws also for a status other than success.
    package func send(_ call: APICall) async throws -> APIReply {
        try await withResponse(to: call) { response in
            try await response.checkStatus()
            return APIReply(status: response.status, fields: response.fields, body: try await response.collect())
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
