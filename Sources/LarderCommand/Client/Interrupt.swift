import Foundation

/// SIGINT, as a terminal sends it for Ctrl-C.
enum Interrupt {
    /// Runs `work` and returns what it does. The first SIGINT cancels it, and it may end in order; the second
    /// ends the process. Throws what `work` throws.
    static func cancels<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // It would end the process before somebody listens to it.
        signal(SIGINT, SIG_IGN)
        let task = Task { try await work() }
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            if task.isCancelled { _exit(ExitStatus.interrupted.rawValue) }
            task.cancel()
        }
        source.resume()
        defer { source.cancel() }
        return try await task.value
    }
}
