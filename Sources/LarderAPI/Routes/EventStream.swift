import Larder
import MicroHTTPD
import Primitives

final class EventStream: EventSink {
    /// Above that the hub sends no more; its window keeps the missing events.
    private static let highWaterMark = 64 << 10
    let body = ResponseStream(highWaterMark: EventStream.highWaterMark)

    func write(_ events: [PublishedEvent]) -> Backpressure {
        body.write(pieces: events.map(\.text))
    }

    func mark(_ id: EventID) {
        body.write(id.heartbeat)
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) {
        body.onRoom(action)
    }

    func onClose(_ action: @escaping @Sendable () -> Void) {
        body.onClose(action)
    }

    func finish() {
        body.finish()
    }

    func abort() {
        body.abort()
    }
}
