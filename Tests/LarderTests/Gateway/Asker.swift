import HTTPCaching
import HTTPTypes
import Primitives
import TestSupport

@testable import Larder

/// A client of a gateway, and the answer that it gets.
final class Asker: BodyConsumer {
    private struct State {
        var status: Int?
        var cacheStatus: String?
        var body: [UInt8] = []
        var isWhole: Bool?
    }

    let didEnd = Gate("the answer's end")
    private let state = Locked(State())
    private let place = Locked<GatewayCall?>(nil)

    init(_ gateway: Gateway, _ url: ExactURL, _ fields: HTTPFields = [:], tags: Set<String> = []) {
        var request = GatewayRequest(method: .get, url: url, fields: fields)
        request.tags = tags
        let place = gateway.fetch(request) { [self] in take($0) }
        self.place.withLock { $0 = place }
    }

    var status: Int? { state.withLock(\.status) }
    var cacheStatus: String? { state.withLock(\.cacheStatus) }
    var text: String { state.withLock { String(decoding: $0.body, as: UTF8.self) } }
    var isWhole: Bool? { state.withLock(\.isWhole) }

    func leave() { place.withLock(\.self)?.leave() }

    private func take(_ result: Result<GatewayAnswer, GatewayError>) {
        guard case .success(let answer) = result else { return end(isWhole: false) }
        state.withLock { ($0.status, $0.cacheStatus) = (answer.status, answer.fields[.cacheStatus]) }
        switch answer.body {
        case .live(let live):
            guard let bytes = live.takeWhole() else { return live.feed(self) }
            _ = write(bytes)
            end(isWhole: true)
        case .pieces(let pieces):
            // A request that comes just after the body has arrived gets the answer that is being stored.
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): _ = write(bytes)
                case .stored(let body, let range): (try? body.read(range)).map { _ = write($0) }
                }
            }
            end(isWhole: true)
        case .withheld: end(isWhole: true)
        }
    }

    private func end(isWhole: Bool) {
        state.withLock { $0.isWhole = isWhole }
        didEnd.open()
    }

    func write(_ bytes: SharedBytes) -> Backpressure {
        state.withLock { $0.body += Array(bytes.bytes) }
        return .room
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) { action() }
    func onClose(_ action: @escaping @Sendable () -> Void) {}
    func finish() { end(isWhole: true) }
    func fail() { end(isWhole: false) }
}
