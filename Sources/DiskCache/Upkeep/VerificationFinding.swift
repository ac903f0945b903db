/// Something that ``DiskCache/verifyAll(_:)`` found wrong.
public enum VerificationFinding: Hashable, Sendable {
    /// An entry's body is not there.
    case missing(key: String, path: String?)
    /// An entry's body is not the one that was stored.
    case corrupt(key: String, path: String?)
    /// A file where bodies are that is no entry's.
    case orphan(path: String)
    /// Tags in the index that are no entry's.
    case orphanInIndex(count: Int)
    /// Slots of the slab that are used, but no entry's.
    case orphanSlots(count: Int)
    /// Something unfinished in `incoming/`.
    case leftover(path: String)
    /// A total is not the sum of the entries.
    case wrongTotal(name: String, stated: Int64, counted: Int64)
    /// SQLite finds its own file inconsistent.
    case damagedIndex(reason: String)
}

extension VerificationFinding: CustomStringConvertible {
    /// One line for an operator.
    public var description: String {
        switch self {
        case .missing(let key, let path): "missing body of \(key) (\(path ?? "in the slab"))"
        case .corrupt(let key, let path): "corrupt body of \(key) (\(path ?? "in the slab"))"
        case .orphan(let path): "body without an entry: \(path)"
        case .orphanInIndex(let count): "\(count) tags in the index without an entry"
        case .orphanSlots(let count): "\(count) slots of the slab without an entry"
        case .leftover(let path): "leftover: \(path)"
        case .wrongTotal(let name, let stated, let counted): "total of \(name) is \(stated), but there are \(counted)"
        case .damagedIndex(let reason): "damaged index: \(reason)"
        }
    }
}
