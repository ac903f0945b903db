/// A fault that ``DiskCache/verifyAll(_:)`` found.
package enum VerificationFinding: Hashable, Sendable {
    case missing(key: String, path: String?)
    case corrupt(key: String, path: String?)
    /// A file in a directory of bodies belongs to no entry.
    case orphan(path: String)
    /// Tags in the index belong to no entry.
    case orphanInIndex(count: Int)
    /// Slots of the slab are marked as used, but belong to no entry.
    case orphanSlots(count: Int)
    /// An unfinished file in `incoming/`.
    case leftover(path: String)
    case wrongTotal(name: String, stated: Int64, counted: Int64)
    /// The check of SQLite fails, two entries name the same slot, or the slot of an entry is not marked as used.
    case damagedIndex(reason: String)
}

extension VerificationFinding: CustomStringConvertible {
    package var description: String {
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
