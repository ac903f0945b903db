import Dispatch
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `POST /pages/import`: receives a WARC or WACZ file, and captures the page in it.
final class ArchiveUpload: BodySink {
    private static let queue = DispatchQueue(
        label: "larder.pages.upload", qos: .utility, attributes: .concurrent)
    private let file: ArchiveFile
    private let url: CanonicalURL?
    private let request: @Sendable (CanonicalURL) -> PageRequest
    private let namespace: Namespace

    /// `url`: the page in the archive; `nil`: the archive's own first page. `request` makes the request for the page.
    init(
        _ file: ArchiveFile, url: CanonicalURL?, into namespace: Namespace,
        request: @escaping @Sendable (CanonicalURL) -> PageRequest
    ) {
        self.file = file
        self.url = url
        self.namespace = namespace
        self.request = request
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        try file.append(bytes)
        return .room
    }

    func abandon() {}

    /// Answers when the capture has ended.
    func finish(_ call: Call, then respond: @escaping @Sendable (PageStatus) -> Void) throws(Problem) {
        if case .failed(let error) = call.exchange.body {
            throw (error as? PageError).map { Problem($0) } ?? .invalid("the body could not be read: \(error)")
        }
        // To find the page, a long archive may have to be read, which ends when the client goes away.
        let hasLeft = Flag()
        if url == nil { call.exchange.onHangUp { hasLeft.set() } }
        Self.queue.async { [self] in
            do throws(PageError) {
                let page =
                    if let url { url } else { try canonical(try namespace.pages.page(in: file) { hasLeft.isSet }) }
                _ = try namespace.pages.capture(request(page), completion: respond)
            } catch {
                call.respond(Problem(error))
            }
        }
    }

    private func canonical(_ text: String) throws(PageError) -> CanonicalURL {
        guard let url = try? CanonicalURL(text) else { throw .noPage }
        return url
    }
}
