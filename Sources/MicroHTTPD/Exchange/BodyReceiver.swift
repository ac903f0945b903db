import Primitives
import Synchronization

/// Receives the body of a request according to its policy. Used on the connection's thread only.
struct BodyReceiver {
    private let policy: BodyPolicy
    private let discardLimit: Int
    private var memory: [UInt8] = []
    /// The part of ``BodyMemory`` that this body takes, with the policy `memory`; `nil` with other policies.
    private let share: BodyMemory.Share?
    private var sunk: Int64 = 0
    private var discarded = 0
    /// Set when the body is refused or its sink has failed. The rest of the body is then discarded.
    private var failure: ReceivedBody?
    private var hasSinkEnough = false

    enum Step {
        case next
        /// The sink must have room before the next piece.
        case wait(any BodySink)
        /// The discarded bytes exceed the limit, so the connection closes.
        case close
    }

    init(policy: BodyPolicy, declaredLength: Int64?, discardLimit: Int, memory: BodyMemory) {
        self.policy = policy
        self.discardLimit = discardLimit
        if case .memory = policy { share = BodyMemory.Share(memory) } else { share = nil }
        guard let declaredLength, declaredLength > 0 else { return }
        switch policy {
        case .none where declaredLength > discardLimit: failure = .tooLarge
        case .memory(let limit) where declaredLength > limit: failure = .tooLarge
        // The client may announce more bytes than it sends, so at most 64 KiB are reserved in advance.
        case .memory: self.memory.reserveCapacity(min(Int(declaredLength), 64 * 1024))
        case .none, .sink: break
        }
    }

    var isDeclaredTooLarge: Bool { if case .tooLarge? = failure { true } else { false } }

    /// Whether a too large body is within the discard limit. If so, reading it lets the client see the answer.
    func isWorthReading(_ declaredLength: Int64?) -> Bool {
        declaredLength.map { $0 <= discardLimit } ?? true
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Step {
        if failure != nil || hasSinkEnough { return discard(bytes) }
        switch policy {
        case .none:
            return discard(bytes)
        case .memory(let limit):
            if bytes.count > limit - memory.count { return fail(.tooLarge, bytes) }
            if let share, !share.take(bytes.count) { return fail(.noMemory, bytes) }
            memory.append(contentsOf: bytes)
            return .next
        case .sink(let sink):
            do {
                let room = try sink.write(bytes)
                sunk += Int64(bytes.count)
                hasSinkEnough = room == .closed
                return room == .full ? .wait(sink) : .next
            } catch {
                return fail(.failed(error), bytes)
            }
        }
    }

    /// Called when the body is complete, and when it will stay unread.
    mutating func finish() -> ReceivedBody {
        if let failure { return failure }
        switch policy {
        case .none: return .none
        case .sink: return .sunk(byteCount: sunk)
        case .memory:
            defer { memory = [] }
            return .memory(memory)
        }
    }

    func abandon() {
        if case .sink(let sink) = policy { sink.abandon() }
    }

    private mutating func fail(_ failure: ReceivedBody, _ bytes: UnsafeRawBufferPointer) -> Step {
        self.failure = failure
        memory = []
        share?.release()
        return discard(bytes)
    }

    private mutating func discard(_ bytes: UnsafeRawBufferPointer) -> Step {
        discarded += bytes.count
        return discarded <= discardLimit ? .next : .close
    }
}

/// Limits the memory of all request bodies that are collected in memory: there may be one for each connection.
final class BodyMemory: Sendable {
    /// The bytes that one body has taken. The object's deinitializer releases them at the latest.
    final class Share {
        private let memory: BodyMemory
        private var byteCount = 0

        init(_ memory: BodyMemory) {
            self.memory = memory
        }

        deinit {
            release()
        }

        /// Returns false, without effect, if the limit would be exceeded.
        func take(_ count: Int) -> Bool {
            // Bodies above the small limit may take only three quarters of the memory, so that small bodies find some.
            let limit = byteCount + count > BodyMemory.smallLimit ? memory.limit / 4 * 3 : memory.limit
            guard memory.held.add(count, ordering: .relaxed).newValue <= limit else {
                memory.held.subtract(count, ordering: .relaxed)
                return false
            }
            byteCount += count
            return true
        }

        func release() {
            memory.held.subtract(byteCount, ordering: .relaxed)
            byteCount = 0
        }
    }

    /// In bytes. A body up to this size may use the whole memory.
    private static let smallLimit = 64 << 10
    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes, for all bodies together.
    init(limit: Int) {
        self.limit = limit
    }
}

/// A pause in reading a connection, because the sink of its request's body has no room. Invariants: `phase` is locked.
/// The thread that ends the phase `waiting` must resume the connection after it has released the lock.
final class BodyPause: SuspensionOwner {
    private enum Phase {
        /// The connection is about to be suspended.
        case beginning
        case waiting(Suspension)
        case over
        /// The client went away, or the daemon gave up.
        case hungUp
    }

    private let phase = Locked(Phase.beginning)
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Called on the connection's thread. Returns false, without suspending, if the daemon is stopping.
    func begin(_ sink: any BodySink) -> Bool {
        connection.stopBodyClock()
        guard let suspension = connection.suspend(owner: self) else { return false }
        // The client may have hung up since this pause was made.
        let isWaiting = phase.withLock { phase in
            guard case .beginning = phase else { return false }
            phase = .waiting(suspension)
            return true
        }
        if isWaiting {
            sink.onRoom { [weak self] in self?.end(.over) }
        } else {
            connection.resume(suspension)
        }
        return true
    }

    var isHungUp: Bool { phase.withLock { if case .hungUp = $0 { true } else { false } } }

    func clientLeft() {
        end(.hungUp)
    }

    private func end(_ last: Phase) {
        let before = phase.withLock { phase in
            let before = phase
            switch phase {
            case .beginning, .waiting: phase = last
            case .over, .hungUp: break
            }
            return before
        }
        guard case .waiting(let suspension) = before else { return }
        connection.startBodyClock()
        connection.resume(suspension)
    }
}
