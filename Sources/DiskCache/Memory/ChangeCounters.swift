import Primitives
import Synchronization

/// Detects whether data changed after it was read. Each change increments the counter of the data's name. A reader
/// takes a mark before it reads and compares it later. Names share the 4,096 counters, so a change of another name may
/// look like a change of this name. The reader then reads once more without need.
final class ChangeCounters: Sendable {
    private let numbers = (0..<4096).map { _ in ChangeNumber() }

    func change(_ name: String) {
        number(name).value.add(1, ordering: .releasing)
    }

    func mark(_ name: String) -> ChangeMark {
        ChangeMark(number(name))
    }

    private func number(_ name: String) -> ChangeNumber {
        numbers[Int(UInt(bitPattern: name.hashValue) % UInt(numbers.count))]
    }
}

package struct ChangeMark: Sendable {
    private let number: ChangeNumber
    private let value: Int

    fileprivate init(_ number: ChangeNumber) {
        self.number = number
        value = number.value.load(ordering: .acquiring)
    }

    /// Whether the data is unchanged since the mark was taken. The cost is a single atomic load.
    package var isCurrent: Bool { number.value.load(ordering: .acquiring) == value }
    package var memory: MemoryHint { MemoryHint(number, length: 24) }
}

/// A class, because an atomic cannot be copied and so cannot be an element of an array.
private final class ChangeNumber: Sendable {
    let value = Atomic<Int>(0)
}
