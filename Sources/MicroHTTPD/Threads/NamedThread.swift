import Foundation
import Primitives

/// A separate thread for a loop that blocks in the kernel.
final class NamedThread: Sendable {
    private let ended = DispatchSemaphore(value: 0)

    /// Debuggers and `top` show `name` (at most 15 bytes).
    init(_ name: String, body: @escaping @Sendable () -> Void) {
        let ended = ended
        let thread = Thread {
            ThreadName.set(name)
            body()
            ended.signal()
        }
        thread.stackSize = 256 * 1024
        thread.start()
    }

    /// Call it once.
    func join() {
        ended.wait()
    }
}
