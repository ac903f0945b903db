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
    public func write(_ bytes: SharedBytes) -> Backpressure {
        pipe.write(bytes)
    }

    /// Calls `action` once, as soon as there is room; at once when there is.
    public func onRoom(_ action: @escaping @Sendable () -> Void) {
        pipe.onRoom(action)
    }

    /// That was all.
    public func finish() {
        pipe.finish()
    }

    /// The client went away before it had sent all, and the origin must not take what it got for whole; or nobody will
    /// ask the origin at all, and what is still written is dropped.
    public func fail() {
        pipe.fail()
    }
}
