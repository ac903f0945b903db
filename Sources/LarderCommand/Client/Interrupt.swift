import Foundation

/// Handles SIGINT, which a terminal sends for Ctrl-C.
enum Interrupt {
    /// The first SIGINT cancels `work`, which can then clean up. The second SIGINT ends the process.
    static func cancels<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // The default action would end the process before the source below handles the signal.
        signal(SIGINT, SIG_IGN)
        let task = Task { try await work() }
        let source = DispatchSource.handling(SIGINT) {
            if task.isCancelled { _exit(ExitStatus.interrupted.rawValue) }
            task.cancel()
        }
        defer { source.cancel() }
        return try await task.value
    }
}

extension DispatchSource {
    /// Handles a signal until the source is cancelled.
    static func handling(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        let source = makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { action() }
        source.resume()
        return source
    }
}
