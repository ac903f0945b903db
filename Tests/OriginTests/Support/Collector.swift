import Dispatch
import HTTPTypes
import Origin
import Primitives
import TestSupport

/// A receiver that records all events of a transfer, with gates to wait for them.
final class Collector: OriginReceiver {
    struct Refusal: Error {}

    private struct State {
        var interimHeads: [OriginHead] = []
        var heads: [OriginHead] = []
        var pauseCount = 0
        var body: [UInt8] = []
        var results: [Result<OriginSummary, OriginError>] = []
        var transfer: OriginTransfer?
    }

    let didAnswerInterim = Gate("interim head")
    let didAnswer = Gate("head")
    let didPause = Gate("pause after the head")
    let didSend = Gate("first byte")
    let received = Counter("bytes of the body")
    let didFinish = Gate("end of the transfer")
    private let state = Locked(State())
    private let refusesAnswer: Bool
    private let refusesBody: Bool

    /// Keeps the client alive, because a released client ends its transfers.
    private let client: OriginClient?

    init(keeping client: OriginClient? = nil, refusesAnswer: Bool = false, refusesBody: Bool = false) {
        self.client = client
        self.refusesAnswer = refusesAnswer
        self.refusesBody = refusesBody
    }

    var heads: [OriginHead] { state.withLock { $0.heads } }
    var head: OriginHead? { heads.first }
    var pauseCount: Int { state.withLock { $0.pauseCount } }
    var body: [UInt8] { state.withLock { $0.body } }
    var text: String { String(decoding: body, as: UTF8.self) }
    var results: [Result<OriginSummary, OriginError>] { state.withLock { $0.results } }

    var interimHeads: [OriginHead] { state.withLock { $0.interimHeads } }
    /// Set by `start`.
    var transfer: OriginTransfer? {
        get { state.withLock { $0.transfer } }
        set { state.withLock { $0.transfer = newValue } }
    }

    func originDidAnswerInterim(_ head: OriginHead) {
        state.withLock { $0.interimHeads.append(head) }
        didAnswerInterim.open()
    }

    func originDidAnswer(_ head: OriginHead) throws {
        state.withLock { $0.heads.append(head) }
        didAnswer.open()
        if refusesAnswer { throw Refusal() }
    }

    func originDidPause() {
        state.withLock { $0.pauseCount += 1 }
        didPause.open()
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        state.withLock { $0.body += bytes }
        didSend.open()
        received.add(bytes.count)
        if refusesBody { throw Refusal() }
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        state.withLock { $0.results.append(result) }
        didFinish.open()
    }

    /// Waits for the end of the transfer and returns its only result; throws the transfer's error.
    @discardableResult
    func summary() async throws -> OriginSummary {
        try await didFinish.wait()
        return try results[0].get()
    }

    /// The error of a transfer that must fail; throws when the transfer succeeds.
    func error() async throws -> OriginError {
        try await didFinish.wait()
        switch results[0] {
        case .failure(let error): return error
        case .success(let summary): throw Unexpected(summary: summary)
        }
    }

    struct Unexpected: Error { let summary: OriginSummary }
}

extension OriginConfiguration {
    /// Allows loopback addresses. All timeouts are short, so that a test that reaches a timeout by mistake ends soon.
    static var local: Self {
        var configuration = Self()
        configuration.addressPolicy = AddressPolicy(allowing: [try! AddressRule("127.0.0.0/8")])
        configuration.connectTimeout = .seconds(5)
        configuration.stallTimeout = .seconds(10)
        configuration.totalTimeout = .seconds(20)
        configuration.retry.baseDelay = .milliseconds(10)
        return configuration
    }

    static func local(_ change: (inout Self) -> Void) -> Self {
        var configuration = local
        change(&configuration)
        return configuration
    }
}

extension OriginClient {
    /// Starts a transfer and returns its receiver at once.
    func start(_ url: String, _ change: (inout OriginRequest) -> Void = { _ in }) -> Collector {
        let collector = Collector(keeping: self)
        var request = OriginRequest(url: url)
        change(&request)
        collector.transfer = fetch(request, receiver: collector)
        return collector
    }

    /// Fetches the URL, and returns the receiver once the transfer has succeeded; throws the transfer's error.
    @discardableResult
    func get(_ url: String, _ change: (inout OriginRequest) -> Void = { _ in }) async throws -> Collector {
        let collector = start(url, change)
        try await collector.summary()
        return collector
    }

    /// Fetches the URL, and returns the transfer's error; throws when the transfer succeeds.
    func failure(_ url: String, _ change: (inout OriginRequest) -> Void = { _ in }) async throws -> OriginError {
        try await start(url, change).error()
    }
}

extension OriginError.Kind {
    /// The case and its associated values as text, for comparison.
    var name: String { "\(self)" }
}

/// An origin that answers every request with the bytes and closes the connection.
func rawOrigin(_ bytes: String) throws -> ScriptedOrigin {
    try ScriptedOrigin { _, connection in
        try connection.send(bytes)
        connection.close()
    }
}
