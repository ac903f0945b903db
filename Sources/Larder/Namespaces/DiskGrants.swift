/// How much each namespace may take of the disk while room changes hands: what another still takes, or one that has
/// ended, is given to nobody, and nobody has to give up more than was asked of them. A plain value.
struct DiskGrants: Equatable {
    /// By ``Namespace/id``, in bytes. One that is not here has nothing yet.
    private(set) var granted: [Int: Int64]

    /// Everybody has what they are to have: nothing was taken before.
    init(_ granted: [Int: Int64] = [:]) {
        self.granted = granted
    }

    /// Gives what can be given.
    ///
    /// - Parameters:
    ///   - quotas: what each is to have, by its id; together they are all that there is.
    ///   - taken: what each takes.
    ///   - retired: what is taken by those that have ended.
    /// - Returns: whether everybody has what they are to have.
    mutating func update(quotas: [Int: Int64], taken: [Int: Int64], retired: Int64) -> Bool {
        var next: [Int: Int64] = [:]
        for (id, quota) in quotas { next[id] = min(granted[id] ?? 0, quota) }
        let missing = quotas.reduce(0.0) { $0 + Double($1.value - (next[$1.key] ?? 0)) }
        let occupied = next.reduce(Double(retired)) { $0 + Double(max($1.value, taken[$1.key] ?? 0)) }
        let free = quotas.values.reduce(0.0) { $0 + Double($1) } - occupied
        let isComplete = free >= missing || missing == 0
        if isComplete {
            next = quotas
        } else if free > 0 {
            for (id, quota) in quotas {
                let has = next[id] ?? 0
                next[id] = min(quota, has + Int64(Double(quota - has) / missing * free))
            }
        }
        granted = next
        return isComplete
    }
}
