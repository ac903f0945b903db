import HTTPTypes
import Origin
import Primitives

/// Gets a document of a subscription's source into memory.
///
/// The origin client calls the fetch in sequence, on a thread of the client. `then` is called once, last.
final class DocumentFetch: OriginReceiver {
    enum Result: Sendable {
        case document(SourceReading.Document)
        /// The origin confirmed the validators of the request.
        case unchanged(HTTPFields)
        /// `pause`: the time for which the document cannot be had; `nil`: it may come at any time. `hostPause`: the
        /// time for which the origin wants no request at all; `nil`: it states none.
        case failed(reason: String, pause: Duration? = nil, hostPause: Duration? = nil)
    }

    private struct State {
        var head: OriginHead?
        var body: [UInt8] = []
    }

    private struct Refused: Error {}

    private let limit: Int
    private let clock: any WallClock
    private let then: @Sendable (Result) -> Void
    private let state = Locked(State())

    /// - Parameter limit: the most bytes of the document.
    init(limit: Int, clock: any WallClock, then: @escaping @Sendable (Result) -> Void) {
        self.limit = limit
        self.clock = clock
        self.then = then
    }

    func originDidAnswer(_ head: OriginHead) throws {
        state.withLock { $0.head = head }
        guard (200..<300).contains(head.status), head.status != 206 else { throw Refused() }
        if let length = head.declaredLength, length > Int64(limit) { throw tooLong }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        let isTooLong = state.withLock { state in
            guard state.body.count + bytes.count <= limit else { return true }
            state.body.append(contentsOf: bytes)
            return false
        }
        if isTooLong { throw tooLong }
    }

    private var tooLong: DownloadError { .transferFailed(code: 0, words: "the document is longer than \(limit) bytes") }

    func originDidFinish(_ result: Swift.Result<OriginSummary, OriginError>) {
        let state = state.withLock(\.self)
        switch result {
        case .success:
            guard let head = state.head, head.status != 304 else { return judge(state.head) }
            then(.document(.init(body: state.body, url: head.effectiveURL, fields: head.fields)))
        case .failure(let error):
            if case .receiver(_ as Refused) = error.kind { return judge(state.head) }
            then(.failed(reason: DownloadError(error).description))
        }
    }

    private func judge(_ head: OriginHead?) {
        guard let head else { return then(.failed(reason: "the origin sent no answer")) }
        if head.status == 304 { return then(.unchanged(head.fields)) }
        let answer = AnswerWithoutBody(head, at: clock.now())
        // The refusal concerns this document, and not the other resources of the host.
        let pause = answer.meaning == .forbidden ? AnswerWithoutBody.refusalPause : answer.pause ?? answer.hostPause
        then(.failed(reason: answer.reason, pause: pause, hostPause: answer.hostPause))
    }
}
