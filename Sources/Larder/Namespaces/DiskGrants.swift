/// The disk space granted to each namespace while quotas change. Space still in use is not granted again before it is
/// freed. A grant never falls below the smaller of its old value and the new quota. A plain value.
struct DiskGrants: Equatable {
    /// By ``Namespace/id``. A missing namespace has no grant yet.
    private(set) var granted: [Int: Int64]

    /// Begins with complete grants, before any namespace uses space of another namespace.
    init(_ granted: [Int: Int64] = [:]) {
        self.granted = granted
    }

    /// Grants as much of the quotas, which make up the whole disk limit, as the space in use permits. Returns whether
    /// every namespace has its whole quota.
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
