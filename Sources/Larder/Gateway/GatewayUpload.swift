import Origin
import Primitives

/// The body of a client's request on its way to the origin, at the origin's pace.
package final class GatewayUpload: Sendable {
    let pipe: OriginUpload

    /// - Parameter length: the number of bytes; `nil` when it is unknown.
    package init(length: Int64?) {
        pipe = OriginUpload(length: length)
    }

    /// Takes the next bytes, and tells whether more should follow. Bytes that the origin does not want any more are
    /// dropped.
    package func write(_ bytes: SharedBytes) -> Backpressure {
        pipe.write(bytes)
    }

    /// Calls `action` once, as soon as there is room; at once if there is room now.
    package func onRoom(_ action: @escaping @Sendable () -> Void) {
        pipe.onRoom(action)
    }

    /// Ends the body: all bytes were written.
    package func finish() {
        pipe.finish()
    }

    /// Ends the body early. Either the client left before it sent all, and the origin must not take the bytes for the
    /// whole body. Or no origin will be asked, and all further bytes are dropped.
    package func fail() {
        pipe.fail()
    }
}
