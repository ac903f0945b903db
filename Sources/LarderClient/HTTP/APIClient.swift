import HTTPTypes
import Origin
import Primitives

/// Speaks HTTP to one server of Larder, on the engine that Larder asks origins with: connections are kept, bodies
/// stream both ways, and nothing but the server itself is asked; redirects are not followed and proxies not used.
public final class APIClient: Sendable {
    /// Whom it speaks to, and how.
    public struct Configuration: Sendable {
        /// The server.
        public var server: ServerAddress
        /// What is shown to it; `nil`, the default: nothing.
        public var token: BearerToken?
        /// The namespace to work in; `nil`, the default: the token's own, else `default`.
        public var namespace: String?
        /// A PEM file of certificate authorities that are trusted beside the system's own; `nil`, the default: none.
        public var certificateAuthorityFile: String?
        /// How long the server may send nothing at all before the call is given up. Two hours by default: a download
        /// may take one, and TCP finds out by itself when the machine is gone.
        public var silenceLimit: Duration = .seconds(7200)

        /// The defaults, for a server.
        public init(server: ServerAddress) {
            self.server = server
        }
    }

    /// The configuration it was made with.
    public let configuration: Configuration
    private let engine: OriginClient

    /// Starts the client's thread; nothing is sent yet.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        var engine = OriginClient.Configuration()
        // Where the server is was said by who runs this, not by somebody else's URL.
        engine.addressPolicy = AddressPolicy(allowing: [.everything])
        engine.certificateAuthorityFile = configuration.certificateAuthorityFile
        engine.stallTimeout = configuration.silenceLimit
        engine.totalTimeout = .seconds(365 * 86_400)
        // Whoever calls is told at once when nobody is there.
        engine.retry = .never
        engine.threads = 1
        engine.userAgent = "larder"
        self.engine = OriginClient(configuration: engine)
    }

    /// Makes a call and gives its answer to `body` as soon as the head is there. When that returns, what has not come
    /// by then is not waited for. Throws ``ClientError``, and what `body` throws.
    public func withResponse<Value>(
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

    /// Makes a call and returns its whole answer. Throws ``ClientError``, also when the status is no success.
    public func send(_ call: APICall) async throws -> APIReply {
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
