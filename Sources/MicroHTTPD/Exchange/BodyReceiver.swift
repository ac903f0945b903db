import Primitives
import Synchronization

/// Used on the connection's thread only.
struct BodyReceiver {
    private let policy: BodyPolicy
    private let discardLimit: Int
    private var memory: [UInt8] = []
    /// For `memory`; `nil` for other policies.
    private let share: BodyMemory.Share?
    private var isWithoutMemory = false
    private var sunk: Int64 = 0
    private var discarded = 0
    private var isTooLarge = false
    private var failure: (any Error)?
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
        case .none:
            isTooLarge = declaredLength > discardLimit
        case .memory(let limit):
            isTooLarge = declaredLength > limit
            // The client may declare more than it sends, so at most 64 KiB are reserved in advance.
            if !isTooLarge { self.memory.reserveCapacity(min(Int(declaredLength), 64 * 1024)) }
        case .sink:
            break
        }
    }

    var isDeclaredTooLarge: Bool { isTooLarge }

    /// Whether to read a body that is too large, because closing the connection early would cost the client its answer.
    func isWorthReading(_ declaredLength: Int64?) -> Bool {
        declaredLength.map { $0 <= discardLimit } ?? true
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Step {
        switch policy {
        case .none:
            return discard(bytes)
        case .memory(let limit):
            if isTooLarge || isWithoutMemory { return discard(bytes) }
            if bytes.count > limit - memory.count {
                isTooLarge = true
                forget()
                return discard(bytes)
            }
            if let share, !share.take(bytes.count) {
                isWithoutMemory = true
                forget()
                return discard(bytes)
            }
            memory.append(contentsOf: bytes)
            return .next
        case .sink(let sink):
            if hasSinkEnough || failure != nil { return discard(bytes) }
            do {
                let room = try sink.write(bytes)
                sunk += Int64(bytes.count)
                switch room {
                case .room: return .next
                case .full: return .wait(sink)
                case .closed:
                    hasSinkEnough = true
                    return .next
                }
            } catch {
                failure = error
                return discard(bytes)
            }
        }
    }

    /// Called when the body is complete, or will not be read.
    mutating func finish() -> ReceivedBody {
        if let failure { return .failed(failure) }
        if isTooLarge { return .tooLarge }
        if isWithoutMemory { return .noMemory }
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

    private mutating func forget() {
        memory = []
        share?.release()
    }

    private mutating func discard(_ bytes: UnsafeRawBufferPointer) -> Step {
        discarded += bytes.count
        return discarded <= discardLimit ? .next : .close
    }
}

/// The memory of all request bodies that are collected in memory. Its limit is common because each body may stay within
/// its own limit while there are as many bodies as connections.
final class BodyMemory: Sendable {
    /// The bytes of one body. They are released with this object at the latest.
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
            // Bodies above the small limit may take three quarters only, so that small bodies find memory.
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

    /// In bytes. Up to this size a body may use the last quarter of the memory.
    private static let smallLimit = 64 << 10

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes, for all bodies together.
    init(limit: Int) {
        self.limit = limit
    }
}
