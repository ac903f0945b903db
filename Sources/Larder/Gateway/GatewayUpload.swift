import Origin
import Primitives

/// The body of a client's request on its way to the origin, at the origin's pace.
public final class GatewayUpload: Sendable {
    let pipe: OriginUpload

    /// - Parameter length: the number of bytes; `nil` when it is unknown.
    public init(length: Int64?) {
        pipe = OriginUpload(length: length)
    }

    /// Takes the next bytes, and tells whether more should follow. Bytes that the origin does not want any more are
    /// dropped.
    public func write(_ bytes: SharedBytes) -> Backpressure {
        pipe.write(bytes)
    }

    /// Calls `action` once, as soon as there is room; at once if there is room now.
    public func onRoom(_ action: @escaping @Sendable () -> Void) {
        pipe.onRoom(action)
    }

    /// Ends the body: all bytes were written.
    public func finish() {
        pipe.finish()
    }

    /// Ends the body early. Either the client left before it sent all, and the origin must not take the bytes for the
    /// whole body. Or no origin will be asked, and all further bytes are dropped.
    public func fail() {
        pipe.fail()
    }
}
