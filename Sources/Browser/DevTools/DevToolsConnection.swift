import Dispatch
import Foundation
import Primitives

/// Sends commands to a browser, and receives its replies and events. Each message is a JSON text with a zero byte
/// behind it.
///
/// Invariants: `state` is locked. `writing` and `reading` are serial queues; both may wait for the browser, and both
/// end with it.
final class DevToolsConnection: Sendable {
    typealias Reply = Result<JSON, BrowserError>

    private struct Waiting {
        var method: String
        var session: String?
        var continuation: CheckedContinuation<Reply, Never>
    }

    private struct State {
        var isEnded = false
        var count: Int64 = 0
        var waiting: [Int64: Waiting] = [:]
    }

    private let process: BrowserProcess
    private let state = Locked(State())
    private let writing = DispatchQueue(label: "larder.browser.write")
    private let reading = DispatchQueue(label: "larder.browser.read")
    /// The longest message from the browser. A snapshot is shorter, and a request of a page with a longer body gets no
    /// answer.
    private static let messageLimit = 128 << 20

    init(_ process: BrowserProcess) {
        self.process = process
    }

    /// Call once. `received` is called for one event after another, and must not wait. `ended` is called once.
    func start(received: @escaping @Sendable (DevToolsEvent) -> Void, ended: @escaping @Sendable () -> Void) {
        reading.async { [self] in
            read(received)
            end()
            ended()
        }
    }

    var isEnded: Bool { state.withLock(\.isEnded) }

    /// Sends a command, and waits for its reply until `deadline`. Throws ``BrowserError/ended`` when the task is
    /// cancelled.
    func send(
        _ command: DevToolsCommand, before deadline: ContinuousClock.Instant = .now + .seconds(10)
    ) async throws(BrowserError) -> JSON {
        let number = makeNumber()
        let reply = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isEnded = state.withLock { state in
                    if !state.isEnded {
                        state.waiting[number] = Waiting(
                            method: command.method, session: command.session, continuation: continuation)
                    }
                    return state.isEnded
                }
                if isEnded { return continuation.resume(returning: .failure(.ended)) }
                // The handler of an earlier cancellation has not found the command.
                if Task.isCancelled { return resume(number, .failure(.ended)) }
                write { command.text(number: number) }
                let rest = max(deadline - .now, .zero)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(rest.milliseconds))) {
                    [weak self] in self?.resume(number, .failure(.timedOut(command.method)))
                }
            }
        } onCancel: {
            resume(number, .failure(.ended))
        }
        return try reply.get()
    }

    /// As ``send(_:before:)``, also in a cancelled task, for commands with a result that must be known.
    func sendInAnyCase(_ command: DevToolsCommand) async throws(BrowserError) -> JSON {
        let reply = await Task { () -> Reply in
            do throws(BrowserError) { return .success(try await send(command)) } catch { return .failure(error) }
        }.value
        return try reply.get()
    }

    /// Sends a command without waiting for its reply. Commands arrive in the order of their calls.
    func post(_ command: DevToolsCommand) {
        let number = makeNumber()
        write { command.text(number: number) }
    }

    /// As ``post(_:)``, for a long command, which `command` makes when the earlier ones are sent. So no more than one
    /// long command is in memory.
    func post(_ command: @escaping @Sendable () -> DevToolsCommand) {
        let number = makeNumber()
        write { command().text(number: number) }
    }

    /// Ends the commands that wait in a session, which the browser never answers after the target has crashed.
    func fail(_ session: String, _ error: BrowserError) {
        let waiting = state.withLock { state in
            let found = state.waiting.filter { $0.value.session == session }
            for number in found.keys { state.waiting[number] = nil }
            return found.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume(returning: .failure(error)) }
    }

    private func makeNumber() -> Int64 {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    private func resume(_ number: Int64, _ reply: Reply) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume(returning: reply)
    }

    // MARK: - The pipes

    private func write(_ text: @escaping @Sendable () -> [UInt8]) {
        writing.async { [self] in
            guard !isEnded else { return }
            let bytes = text() + [0]
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.write(process.input, $0.baseAddress, $0.count) }
                // The reader of the other pipe notices that the browser has ended.
                if count < 0, errno != EINTR { return }
                rest = rest.dropFirst(max(count, 0))
            }
        }
    }

    private func read(_ received: (DevToolsEvent) -> Void) {
        var messages = MessageReader(limit: Self.messageLimit)
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = Foundation.read(process.output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            buffer.withUnsafeBytes { bytes in
                messages.read(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { take($0, received) }
            }
        }
    }

    private func take(_ text: [UInt8], _ received: (DevToolsEvent) -> Void) {
        switch text.withUnsafeBytes({ DevToolsMessage($0) }) {
        case .event(let event): received(event)
        case .reply(let number, let result):
            guard let waiting = state.withLock({ $0.waiting.removeValue(forKey: number) }) else { return }
            waiting.continuation.resume(returning: result.mapError { .refused(waiting.method, $0.reason) })
        case nil: break
        }
    }

    /// Ends the browser, and all commands that wait.
    private func end() {
        // A caller that learns of the end finds the process's words and no files.
        process.end()
        let waiting = state.withLock { state in
            state.isEnded = true
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume(returning: .failure(.ended)) }
    }

    /// Ends the browser. ``send(_:before:)`` throws ``BrowserError/ended`` from now on.
    func close() {
        state.withLock { $0.isEnded = true }
        // The end of the process closes its end of the pipe, so `read` ends.
        process.end()
    }
}
