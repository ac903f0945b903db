import DiskCache
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The flow of a body to several clients")
struct BodyFlowTests: Sendable {
    /// A client that takes a limited number of bytes, and then has no room until the test opens it.
    private final class Client: BodyConsumer {
        enum End { case complete, brokenOff }

        struct State {
            var received: [UInt8] = []
            var room: Int
            var end: End?
            var roomAction: (@Sendable () -> Void)?
            var closeAction: (@Sendable () -> Void)?
        }

        let state: Locked<State>

        init(room: Int = .max) { state = Locked(State(room: room)) }

        var received: [UInt8] { state.withLock { $0.received } }
        var end: End? { state.withLock { $0.end } }

        func write(_ bytes: SharedBytes) -> Backpressure {
            state.withLock { state in
                state.received += Array(bytes.bytes)
                return state.received.count < state.room ? .room : .full
            }
        }

        func onRoom(_ action: @escaping @Sendable () -> Void) {
            let isReady = state.withLock { state in
                if state.received.count < state.room { return true }
                state.roomAction = action
                return false
            }
            if isReady { action() }
        }

        func onClose(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.closeAction = action } }
        func finish() { state.withLock { $0.end = .complete } }
        func fail() { state.withLock { $0.end = .brokenOff } }

        func open(_ room: Int = .max) {
            let action = state.withLock { state in
                state.room = room
                return state.roomAction.take()
            }
            action?()
        }

        func close() {
            let action = state.withLock { $0.closeAction.take() }
            action?()
        }
    }

    private let demands = Recorder<TransferDemand>()

    private func flow(kept: GrowingBody? = nil) -> BodyFlow {
        flow(kept: kept, room: 64 << 20)
    }

    private let looks = Recorder<@Sendable () -> Void>()

    /// Returns a flow that schedules a check of its slow readers by appending the check to `looks`.
    private func flow(kept: GrowingBody? = nil, room: Int) -> BodyFlow {
        BodyFlow(kept: kept, room: SharedAllowance(limit: room), afterGrace: { [looks] in looks.append($0) }) {
            [demands] in demands.append($0)
        }
    }

    private func bytes(_ count: Int, from start: Int = 0) -> [UInt8] {
        (start..<start + count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    private func copy(_ bytes: SharedBytes?) -> [UInt8]? {
        bytes?.withUnsafeBytes { Array($0) }
    }

    private func send(_ bytes: [UInt8], to flow: BodyFlow) {
        bytes.withUnsafeBytes { flow.receive($0) }
    }

    @Test("A body that is not stored waits in memory until a client reads; this client gets later bytes as they arrive")
    func unkept() {
        let flow = flow()
        send(bytes(1_000), to: flow)
        let client = Client()
        flow.feed(client)
        #expect(client.received == bytes(1_000))
        send(bytes(500, from: 1_000), to: flow)
        #expect(client.received == bytes(1_500))
        #expect(client.end == nil)
        flow.complete()
        #expect(client.end == .complete)
        #expect(demands.elements.isEmpty)
    }

    @Test("A part of a body can be taken at once only if the part has arrived, is short and lies in one piece")
    func taken() throws {
        let flow = flow()
        #expect(flow.take(0..<1_000) == nil)
        send(bytes(1_000), to: flow)
        #expect(flow.take(0..<1_001) == nil)
        #expect(flow.take(0..<0) == nil)
        #expect(!flow.hasBeenRead)
        #expect(copy(flow.take(0..<1_000)) == bytes(1_000))
        #expect(flow.hasBeenRead)
        flow.complete()
        #expect(demands.elements.isEmpty)

        let pieces = self.flow()
        send(bytes(10), to: pieces)
        send(bytes(10, from: 10), to: pieces)
        #expect(pieces.take(0..<20) == nil)

        let kept = try KeptBody()
        let keptFlow = self.flow(kept: kept.reservation.body)
        let all = bytes(BodyFlow.lengthAtOnce + 1)
        try kept.reservation.receive(all)
        send(all, to: keptFlow)
        #expect(keptFlow.take(0..<Int64(all.count)) == nil)
        #expect(copy(keptFlow.take(1..<Int64(all.count))) == Array(all[1...]))
    }

    @Test("A slow client of a body that is not stored pauses the origin and later resumes it")
    func pace() {
        let flow = flow()
        let client = Client(room: 1)
        flow.feed(client)
        let piece = bytes(64 << 10)
        for _ in 0..<6 { send(piece, to: flow) }
        #expect(demands.elements == [.pause])
        #expect(client.received.count == piece.count)
        client.open()
        #expect(client.received.count == 6 * piece.count)
        #expect(demands.elements == [.pause, .resume])
    }

    @Test("Without a client, the origin is paused when the window in memory is full, and no byte is lost")
    func windowWithoutClient() {
        let flow = flow()
        for number in 0..<6 { send(bytes(64 << 10, from: number << 16), to: flow) }
        #expect(demands.elements == [.pause])
        let client = Client()
        flow.feed(client)
        #expect(client.received == bytes(6 << 16))
        #expect(demands.elements == [.pause, .resume])
    }

    @Test("The transfer of a body that is not stored is cancelled when the last client leaves")
    func leaving() {
        let flow = flow()
        let (first, second) = (Client(), Client())
        flow.feed(first)
        flow.feed(second)
        send(bytes(10), to: flow)
        first.close()
        #expect(demands.elements.isEmpty)
        second.close()
        #expect(demands.elements == [.cancel])
    }

    @Test("When the transfer of a body fails, every reader gets an incomplete body")
    func failure() {
        let flow = flow()
        let client = Client()
        flow.feed(client)
        send(bytes(10), to: flow)
        flow.fail()
        #expect(client.end == .brokenOff)
        #expect(client.received == bytes(10))
    }

    @Test("Each client reads a stored body at its own pace, and can begin at any byte")
    func kept() async throws {
        let fixture = try KeptBody()
        let flow = flow(kept: fixture.reservation.body)
        let (quick, slow) = (Client(), Client(room: 1))
        flow.feed(quick)
        flow.feed(slow)
        for number in 0..<8 {
            let piece = bytes(50_000, from: number * 50_000)
            try fixture.reservation.receive(piece)
            send(piece, to: flow)
        }
        let late = Client()
        flow.feed(late)
        let part = Client()
        flow.feed(part, from: 60_000, to: 170_001)
        #expect(quick.received == bytes(400_000))
        #expect(late.received == bytes(400_000))
        #expect(part.received == Array(bytes(400_000)[60_000..<170_001]))
        #expect(part.end == .complete)
        #expect(slow.received.count == 50_000)
        flow.complete()
        fixture.reservation.abandon()
        slow.open()
        #expect(slow.received == bytes(400_000))
        #expect([quick.end, slow.end, late.end] == [.complete, .complete, .complete])
        #expect(demands.elements.isEmpty)
    }

    @Test("When the cache stops storing a body in the middle, every reader gets the whole body at its own pace")
    func keepingEnds() throws {
        let fixture = try KeptBody()
        let flow = flow(kept: fixture.reservation.body)
        let (quick, slow) = (Client(), Client(room: 1))
        flow.feed(quick)
        flow.feed(slow)
        let first = bytes(100_000)
        try fixture.reservation.receive(first)
        send(first, to: flow)
        flow.stopKeeping()
        fixture.reservation.abandon()
        for number in 1..<5 { send(bytes(100_000, from: number * 100_000), to: flow) }
        #expect(quick.received == bytes(500_000))
        slow.open()
        #expect(slow.received == bytes(500_000))
        #expect(demands.elements.isEmpty)
    }

    @Test(
        "A reader that stalls too far behind is cut off after a while, and then delays no other reader",
        arguments: [64 << 20, 0])
    func stalled(room: Int) throws {
        let flow = flow(room: room)
        let (quick, slow) = (Client(), Client(room: 1))
        flow.feed(quick)
        flow.feed(slow)
        let piece = bytes(64 << 10)
        // The slow client takes the first piece, so this piece does not count towards the bound.
        var sent = 0
        while demands.elements.isEmpty, sent < 1_000 {
            send(piece, to: flow)
            sent += 1
        }
        let bound = room == 0 ? BodyFlow.window : Int(BodyFlow.bound)
        #expect(sent == 2 + bound / piece.count)
        #expect(quick.received.count == sent * piece.count)
        #expect(demands.elements == [.pause] && looks.elements.count == 1)
        looks.elements[0]()
        #expect(demands.elements == [.pause, .resume])
        // The remaining reader alone sets the pace of the rest of the body.
        for _ in 0..<200 { send(piece, to: flow) }
        flow.complete()
        #expect(quick.received.count == (sent + 200) * piece.count && quick.end == .complete)
        #expect(demands.elements == [.pause, .resume] && looks.elements.count == 1)
        slow.open()
        #expect(slow.end == .brokenOff && slow.received.count == piece.count)
    }

    @Test("A reader that is far behind but goes on reading gets every byte, and the origin waits for it")
    func steady() {
        let flow = flow(room: 0)
        let (quick, slow) = (Client(), Client(room: 5))
        flow.feed(quick)
        flow.feed(slow)
        let piece = bytes(64 << 10)
        var sent = 0
        while demands.elements.isEmpty, sent < 1_000 {
            send(piece, to: flow)
            sent += 1
        }
        #expect(looks.elements.count == 1)
        slow.open()
        #expect(demands.elements == [.pause, .resume])
        looks.elements[0]()
        #expect(looks.elements.count == 1)
        send(piece, to: flow)
        flow.complete()
        for client in [quick, slow] {
            #expect(client.received.count == (sent + 1) * piece.count && client.end == .complete)
        }
    }

    @Test("When two slow readers pause the origin, the slower reader is cut off only if it stalls")
    func twoSlow() {
        let flow = flow(room: 0)
        let (first, second) = (Client(room: 1), Client(room: 1))
        flow.feed(first)
        flow.feed(second)
        let piece = bytes(64 << 10)
        for _ in 0..<6 { send(piece, to: flow) }
        #expect(demands.elements == [.pause])
        #expect(looks.elements.isEmpty)
        first.open()
        #expect(first.received.count == 6 * piece.count)
        // Now the first reader waits for the second reader.
        #expect(demands.elements == [.pause] && looks.elements.count == 1)
        second.open()
        #expect(second.received.count == 6 * piece.count)
        #expect(demands.elements == [.pause, .resume])
        looks.elements[0]()
        flow.complete()
        #expect(first.end == .complete && second.end == .complete)
    }

    @Test("The origin stays paused for a slow reader while another reader waits for a later part of the body")
    func farPart() {
        let flow = flow()
        let (far, slow) = (Client(), Client(room: 1))
        flow.feed(far, from: 1 << 30)
        flow.feed(slow)
        for _ in 0..<6 { send(bytes(64 << 10), to: flow) }
        #expect(demands.elements == [.pause])
        slow.close()
        #expect(demands.elements == [.pause, .resume])
    }

    @Test("Many clients on many threads all get every byte of a body")
    func threads() async throws {
        let fixture = try KeptBody()
        let flow = flow(kept: fixture.reservation.body)
        let clients = (0..<50).map { _ in Client() }
        _ = try await concurrently(51) { number in
            if number == 0 {
                for piece in 0..<100 {
                    let bytes = bytes(7_000, from: piece * 7_000)
                    try? fixture.reservation.receive(bytes)
                    send(bytes, to: flow)
                }
                flow.complete()
            } else {
                flow.feed(clients[number - 1])
            }
        }
        let all = bytes(700_000)
        for client in clients {
            #expect(client.received == all)
            #expect(client.end == .complete)
        }
    }

    /// A body that a cache is receiving.
    private final class KeptBody: Sendable {
        let temporary: TemporaryDirectory
        let cache: DiskCache
        let reservation: Reservation

        init() throws {
            temporary = try TemporaryDirectory("larder-flow")
            let directory = try CacheDirectory(path: temporary.path("cache"))
            cache = try DiskCache(in: directory, configuration: CacheConfiguration())
            reservation = cache.reserve(responseTo: ResponseURL("https://example.com/"))
        }

        deinit { cache.close() }
    }
}
