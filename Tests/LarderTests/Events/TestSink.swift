import Primitives
import TestSupport

@testable import Larder

/// A listener of the hub, with a pace that the test sets.
final class TestSink: EventSink {
    private struct State {
        var events: [PublishedEvent] = []
        var marks: [EventID] = []
        /// The number of events that the listener takes before it has no room.
        var room: Int
        var roomAction: (@Sendable () -> Void)?
        var closeAction: (@Sendable () -> Void)?
        var isClosed = false
        var isFinished = false
        var isAborted = false
    }

    private let state: Locked<State>

    /// - Parameter room: the number of events that the listener takes before it is full; unlimited by default.
    init(room: Int = .max) {
        state = Locked(State(room: room))
    }

    var events: [PublishedEvent] { state.withLock(\.events) }
    /// See ``Larder/Event/word``.
    var words: [String] { events.map(\.event.word) }
    var marks: [EventID] { state.withLock(\.marks) }
    var isFinished: Bool { state.withLock(\.isFinished) }
    var isAborted: Bool { state.withLock(\.isAborted) }

    /// Waits for this number of events.
    func wait(for count: Int) async throws {
        try await poll("\(count) events") { events.count >= count }
    }

    /// Makes room for this number of further events.
    func makeRoom(_ count: Int) {
        let action = state.withLock { state in
            state.room = count
            return state.roomAction.take()
        }
        action?()
    }

    /// Lets the client leave.
    func leave() {
        let actions = state.withLock { state in
            state.isClosed = true
            return [state.roomAction.take(), state.closeAction.take()]
        }
        for action in actions { action?() }
    }

    // MARK: From the hub

    func write(_ events: [PublishedEvent]) -> Backpressure {
        state.withLock { state in
            if state.isClosed { return .closed }
            state.events += events
            state.room -= min(state.room, events.count)
            return state.room > 0 ? .room : .full
        }
    }

    func mark(_ id: EventID) {
        state.withLock { $0.marks.append(id) }
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            if state.isClosed || state.room > 0 { return true }
            state.roomAction = action
            return false
        }
        if isReady { action() }
    }

    func onClose(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.closeAction = action }
            return state.isClosed
        }
        if isClosed { action() }
    }

    func finish() {
        state.withLock { $0.isFinished = true }
        leave()
    }

    func abort() {
        state.withLock { $0.isAborted = true }
        leave()
    }
}
