import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Connects a gateway's answer with the call of its client. The answer or the call may arrive first. One lock guards
/// `state`. The thread that finds both the answer and the call responds, after it has released the lock.
final class FetchReply: Sendable {
    private struct State {
        var call: Call?
        var result: Result<GatewayAnswer, GatewayError>?
        var place: GatewayCall?
        var hasLeft = false
        var isAnswered = false
    }

    /// Both heads, request and answer, must fit into a connection's 32 KiB. Else libmicrohttpd closes it unanswered.
    private static let headLimit = 30_000
    /// The bytes of libmicrohttpd's record for a field of the request, which take part of the 32 KiB, too.
    private static let fieldRecord = 64

    private let request: Request
    private let ready: ReadyAnswers
    private let state = Locked(State())

    init(request: Request, ready: ReadyAnswers) {
        self.request = request
        self.ready = ready
    }

    func start(_ request: GatewayRequest, _ gateway: Gateway) {
        let place = gateway.fetch(
            request,
            interim: { [self] status, fields in
                let fields = HTTPFields(Array(ContentFence.stripped(fields)) + ContentFence.fields)
                state.withLock(\.call)?.exchange.sendInterim(status, fields: fields)
            },
            completion: { [self] result in
                let (call, isForNobody) = state.withLock { state in
                    (state.isAnswered, state.place) = (true, nil)
                    if state.call == nil, !state.hasLeft { state.result = result }
                    return (state.call.take(), state.hasLeft)
                }
                if let call { return respond(result, call) }
                if isForNobody { Self.dismiss(result) }
            })
        let hasLeft = state.withLock { state in
            if !state.isAnswered { state.place = place }
            return state.hasLeft
        }
        if hasLeft { place.leave() }
    }

    func begin(_ call: Call) {
        let result = state.withLock { state in
            if state.result == nil { state.call = call }
            return state.result.take()
        }
        if let result { return respond(result, call) }
        call.exchange.onHangUp { [self] in leave() }
    }

    func leave() {
        let (place, result) = state.withLock { state in
            state.hasLeft = true
            return (state.place.take(), state.result.take())
        }
        place?.leave()
        if let result { Self.dismiss(result) }
    }

    private static func dismiss(_ result: Result<GatewayAnswer, GatewayError>) {
        if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
    }

    private func respond(_ result: Result<GatewayAnswer, GatewayError>, _ call: Call) {
        call.take(result, Problem.init) { answer in
            var fieldCount = 0
            request.forEachFieldLine { _ in fieldCount += 1 }
            let headRoom = Self.headLimit - request.headLength - fieldCount * Self.fieldRecord
            guard answer.fields.headLength <= headRoom else {
                Self.dismiss(result)
                return call.respond(
                    Problem(
                        502,
                        "the head of the origin's answer has \(answer.fields.headLength) bytes, which is too long to "
                            + "pass on"))
            }
            let response = Response(
                status: answer.status, fields: ContentFence.stripped(answer.fields), body: answer.responseBody)
            call.respond(response)
            if let reuse = answer.reuse { keep(response, reuse, call) }
        }
    }

    /// Keeps a ready answer, in which `Age` and `ttl` are recomputed for later requests.
    private func keep(_ response: Response, _ reuse: AnswerReuse, _ call: Call) {
        let (status, body) = (response.status, response.body)
        let reuse = reuse.keeping(ContentFence.stripped)
        ready.keep(
            to: call, selectors: reuse.selectors, madeOf: reuse.entry, selectedFrom: reuse.responses, renews: true
        ) { now in
            reuse.fields(at: now).map { (Response(status: status, fields: $0.fields, body: body), $0.until) }
        }
    }
}

final class FetchUpload: BodySink {
    private let upload: GatewayUpload
    private let reply: FetchReply

    init(_ upload: GatewayUpload, reply: FetchReply) {
        self.upload = upload
        self.reply = reply
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        upload.write(SharedBytes(copying: bytes))
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) { upload.onRoom(action) }

    func abandon() {
        upload.fail()
        reply.leave()
    }
}

extension GatewayAnswer {
    fileprivate var responseBody: Response.Body {
        switch body {
        case .withheld(let length?): return .withheld(length: length)
        case .withheld(nil): return .stream(ResponseStream(), length: nil)
        case .pieces(let pieces):
            if pieces.isEmpty { return .empty }
            if pieces.count == 1 { return pieces[0].responseBody }
            let stream = ResponseStream()
            PieceFeed(pieces, to: stream).goOn()
            return .stream(stream, length: pieces.reduce(0) { $0 + $1.length })
        case .live(let live):
            // A whole body in a single buffer goes out together with the head.
            if let bytes = live.takeWhole() { return .bytes(bytes) }
            let stream = ResponseStream(highWaterMark: 128 << 10)
            live.feed(stream)
            return .stream(stream, length: live.length)
        }
    }
}

extension GatewayAnswer.Piece {
    fileprivate var responseBody: Response.Body {
        switch self {
        case .bytes(let bytes): .bytes(bytes)
        case .stored(let body, let range): body.part(range)
        }
    }

    fileprivate func bytes(at offset: Int64, upTo count: Int) throws -> SharedBytes {
        switch self {
        case .bytes(let bytes): return bytes
        case .stored(let body, let range):
            let start = range.lowerBound + offset
            return try body.read(start..<min(range.upperBound, start + Int64(count)))
        }
    }
}

/// Writes the pieces of an answer to a stream, block by block, as fast as the client reads.
///
/// `@unchecked Sendable` is safe because only the feeding thread touches `position`, and only one thread feeds at a
/// time: the next call comes after the previous call found no room.
final class PieceFeed: @unchecked Sendable {
    private static let block = 64 << 10

    private let pieces: [GatewayAnswer.Piece]
    private let stream: ResponseStream
    private var position: (piece: Int, offset: Int64) = (0, 0)

    init(_ pieces: [GatewayAnswer.Piece], to stream: ResponseStream) {
        self.pieces = pieces
        self.stream = stream
    }

    func goOn() {
        while position.piece < pieces.count {
            let piece = pieces[position.piece]
            guard position.offset < piece.length else {
                position = (position.piece + 1, 0)
                continue
            }
            guard let bytes = try? piece.bytes(at: position.offset, upTo: min(Self.block, stream.room)) else {
                return stream.fail()
            }
            position.offset += Int64(bytes.count)
            switch stream.write(bytes) {
            case .room: continue
            case .full: return stream.onRoom { [self] in goOn() }
            case .closed: return
            }
        }
        stream.finish()
    }
}

extension ResponseStream: BodyConsumer {}
