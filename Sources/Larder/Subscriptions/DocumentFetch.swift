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
        /// `pause`: the time for which the document cannot be had; `nil`: it may come at any time. `hostWish`: `nil`:
        /// no host wants a pause.
        case failed(reason: String, pause: Duration? = nil, hostWish: HostWish? = nil)
    }

    private struct State {
        var head: OriginHead?
        var body: [UInt8] = []
    }

    private struct Refused: Error {}

    private let limit: Int
    private let tools: FetchTools
    private let memory: SharedAllowance.Part
    private let then: @Sendable (Result) -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - limit: the most bytes of the document.
    ///   - memory: the document's part of the memory for all documents. The fetch fails when it cannot grow.
    init(
        limit: Int, tools: FetchTools, memory: SharedAllowance.Part, then: @escaping @Sendable (Result) -> Void
    ) {
        self.limit = limit
        self.tools = tools
        self.memory = memory
        self.then = then
    }

    func originWillBeAsked(_ origin: String) throws {
        try tools.checkPause(of: origin)
    }

    func originDidAnswer(_ head: OriginHead) throws {
        state.withLock { $0.head = head }
        guard (200..<300).contains(head.status), head.status != 206 else { throw Refused() }
        if let length = head.declaredLength, length > Int64(limit) { throw tooLong }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        try state.withLock { state in
            guard state.body.count + bytes.count <= limit else { throw tooLong }
            guard memory.take(bytes.count) else { throw tooMany }
            state.body.append(contentsOf: bytes)
        }
    }

    private var tooMany: DownloadError {
        .transferFailed(
            code: 0, words: "the server has no memory for another long document now; the source is tried again later")
    }

    private var tooLong: DownloadError { .transferFailed(code: 0, words: "the document is longer than \(limit) bytes") }

    func originDidFinish(_ result: Swift.Result<OriginSummary, OriginError>) {
        let state = state.withLock(\.self)
        switch result {
        case .success:
            guard let head = state.head, head.status != 304 else { return judge(state.head) }
            then(.document(.init(body: state.body, url: head.effectiveURL, fields: head.fields, memory: memory)))
        case .failure(let error):
            if case .receiver(_ as Refused) = error.kind { return judge(state.head) }
            let cause = if case .tooLarge = error.kind { tooLong } else { DownloadError(error) }
            // Another caller of the namespace has learned of the pause.
            let wish = cause.hostWish(at: tools.clock.now())
            then(.failed(reason: cause.description, pause: wish?.time, hostWish: wish))
        }
    }

    private func judge(_ head: OriginHead?) {
        guard let head else { return then(.failed(reason: "the origin sent no answer")) }
        if head.status == 304 { return then(.unchanged(head.fields)) }
        tools.notePause(head)
        let answer = AnswerWithoutBody(head, at: tools.clock.now())
        // The refusal concerns this document, and not the other resources of the host.
        let pause =
            answer.meaning == .forbidden ? AnswerWithoutBody.refusalPause : answer.pause ?? answer.hostWish?.time
        then(.failed(reason: answer.reason, pause: pause, hostWish: answer.hostWish))
    }
}
