import Dispatch

/// Runs calls that wait for processes or the disk on the threads of a queue, because the few threads of Swift's tasks
/// must not wait.
enum BlockingCall {
    private static let queue = DispatchQueue(label: "larder.browser.wait", qos: .utility, attributes: .concurrent)

    static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
