import Larder
import MicroHTTPD
import Primitives

final class Upload: BodySink {
    private let entry: EntryUpload
    /// The declared charset of a JSON body. Unless it is UTF-8, bytes above 0x7F are refused.
    private let charset: JSONCharset

    init(to entry: EntryUpload, charset: JSONCharset = .utf8) {
        self.entry = entry
        self.charset = charset
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        try BodyDecoding.check(charset, isASCII: bytes.allSatisfy { $0 < 0x80 })
        try entry.receive(bytes)
        return .room
    }

    func abandon() {
        entry.abandon()
    }

    func plan(_ head: Endpoint.Head, _ service: LarderService) throws(Problem) -> Endpoint.Plan {
        do throws(Problem) {
            return try checkedPlan(head, service)
        } catch {
            entry.abandon()
            throw error
        }
    }

    private func checkedPlan(_ head: Endpoint.Head, _ service: LarderService) throws(Problem) -> Endpoint.Plan {
        try Self.check(head.request)
        try Problem.mapping { () throws(CacheError) in
            if let length = head.request.declaredLength { try entry.expect(length: length) }
            // RFC 9110 §13.2.1: conditions are checked after all other checks of the head, and before the body is read.
            try entry.checkCondition()
        }
        if entry.removes {
            return Endpoint.Plan(body: .none) { [entry] (call) throws(Problem) in
                entry.removeHeld { result in
                    switch result {
                    case .success(let removed): call.respondRemoved(removed ? 1 : 0, entry.key)
                    case .failure(let error): call.respond(Problem(error))
                    }
                }
            }
        }
        return Endpoint.Plan(body: .sink(self)) { [self] (call) throws(Problem) in
            try publish(call, length: head.request.declaredLength, clock: service.clock)
        }
    }

    private static func check(_ request: Request) throws(Problem) {
        // RFC 9110 §14.5: a part must not be stored as the whole.
        guard request.field("Content-Range") == nil else {
            throw .invalid("Content-Range is not supported, because an entry stores a whole body; leave it out")
        }
        // §8.4: readers of the entry would not learn that it is encoded.
        if let coding = request.field("Content-Encoding"), coding.lowercased() != "identity" {
            throw Problem(
                status: 415,
                detail:
                    "the Content-Encoding \"\(coding)\" is not supported, because bodies are stored as sent; send "
                    + "the body decoded"
            )
        }
    }

    private func publish(_ call: Call, length: Int64?, clock: any WallClock) throws(Problem) {
        if case .failed(let error) = call.exchange.body {
            entry.abandon()
            if let error = error as? CacheError { throw Problem(error) }
            if let problem = error as? Problem { throw problem }
            throw .invalid("the body could not be read: \(error)")
        }
        entry.publish(length: length) { result in
            switch result {
            case .success(let entry):
                call.changed(entry.key)
                call.respond(.json(entry.json(at: clock.now())))
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }
}
