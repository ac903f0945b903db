import Foundation
import Primitives

/// Runs `body`, which may block, on a thread of its own, and waits for it without blocking a task's thread (there are
/// only as many of these threads as cores). Throws any error of `body`.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        startThread {
            do {
                continuation.resume(returning: try body())
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

/// Starts a detached thread with a small stack, so that a test can have a thousand of them.
package func startThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.stackSize = 512 * 1024
    thread.start()
}

/// Runs `body` for each number below `count`, all at once, and returns the results in order. Throws the first error.
package func concurrently<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: (Int, Result).self) { group in
        for index in 0..<count { group.addTask { (index, try await body(index)) } }
        var results: [(Int, Result)] = []
        for try await result in group { results.append(result) }
        return results.sorted { $0.0 < $1.0 }.map(\.1)
    }
}

/// Checks `condition` every few milliseconds until it holds. Use it only for a condition that no gate reports, such as
/// the state of another process. Throws ``Gate/TimedOut`` after `limit`.
package func poll(
    _ what: String, limit: Duration = Gate.defaultLimit, every pause: Duration = .milliseconds(10),
    until condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw Gate.TimedOut(description: "\(what): not within \(limit)") }
        // The pause only separates two checks. Its length does not change the result.
        try await Task.sleep(for: pause)
    }
}

/// Gets a value every few milliseconds until it fulfils `condition`, and returns it. Use it only for a condition that
/// no gate reports. Throws ``Gate/TimedOut`` after `limit`, with the last value and the place of the call.
@discardableResult
package func poll<Value>(
    limit: Duration = Gate.defaultLimit, file: String = #fileID, line: Int = #line,
    for value: () async throws -> Value, until condition: (Value) throws -> Bool
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        let found = try await value()
        if try condition(found) { return found }
        guard ContinuousClock.now < deadline else {
            throw Gate.TimedOut(description: "\(file):\(line): still \(found) after \(limit)")
        }
        // The pause only separates two checks. Its length does not change the result.
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// ``poll(_:limit:every:until:)`` for a thread that may block, such as one of ``blocking(_:)``.
package func pollBlocking(
    _ what: String, limit: Duration = Gate.defaultLimit, until condition: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw Gate.TimedOut(description: "\(what): not within \(limit)") }
        // The pause only separates two checks. Its length does not change the result.
        Thread.sleep(forTimeInterval: 0.005)
    }
}
