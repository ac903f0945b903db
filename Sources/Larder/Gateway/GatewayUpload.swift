import Origin
import Primitives

/// The body of a client's request on its way to the origin, at the origin's pace.
public final class GatewayUpload: Sendable {
    let pipe: OriginUpload

    /// - Parameter length: how many bytes there will be; `nil` when nobody knows.
    public init(length: Int64?) {
        pipe = OriginUpload(length: length)
    }

    /// Takes the next bytes, and says whether more should come. Bytes that the origin does not want any more are
    /// dropped.
    public func write(_ bytes: SharedBytes) -> ConsumerRoom {
        switch pipe.write(bytes) {
        case .room: .room
        case .full: .full
        case .closed: .closed
        }
    }

    /// Calls `action` once, as soon as there is room; at once when there is.
    public func whenRoom(_ action: @escaping @Sendable () -> Void) {
        pipe.onRoom(action)
    }

    /// That was all.
    public func finish() {
        pipe.finish()
    }

    /// The client went away before it had sent all: the origin must not take the rest for whole.
    public func fail() {
        pipe.fail()
    }
}
