import Primitives
import Synchronization

/// Tells whether anything has changed of what was read: each change counts up a number, and who remembers the number
/// from before reading compares. Names share numbers, so that a change of one now and then looks like one of another,
/// which costs whoever asks a second reading.
final class ChangeCounters: Sendable {
    private let numbers = (0..<4096).map { _ in ChangeNumber() }

    /// Something changed of what has this name.
    func change(_ name: String) {
        number(name).value.add(1, ordering: .releasing)
    }

    /// The present moment of a name.
    func mark(_ name: String) -> ChangeMark {
        ChangeMark(number(name))
    }

    private func number(_ name: String) -> ChangeNumber {
        numbers[Int(UInt(bitPattern: name.hashValue) % UInt(numbers.count))]
    }
}

/// Whether what was read after it was taken is still so.
public struct ChangeMark: Sendable {
    private let number: ChangeNumber
    private let value: Int

    fileprivate init(_ number: ChangeNumber) {
        self.number = number
        value = number.value.load(ordering: .acquiring)
    }

    /// Whether nothing has changed since. It costs one look at a number.
    public var isCurrent: Bool { number.value.load(ordering: .acquiring) == value }

    /// Where the number is.
    public var memory: MemoryHint { MemoryHint(number, length: 24) }
}

/// Gives an atomic, which cannot be copied, a place in an array.
private final class ChangeNumber: Sendable {
    let value = Atomic<Int>(0)
}
