/// The division of the server's limits among the namespaces, in bytes by name. Each namespace has its configured share,
/// and the default namespace has the rest.
struct NamespaceQuotas: Equatable {
    private(set) var disk: [String: Int64]
    private(set) var memory: [String: Int64]
    /// The divisor of the part that always belongs to the default namespace: a tenth of each limit.
    static let defaultPart: Int64 = 10

    /// Reduces all configured shares in proportion if their sum exceeds nine tenths of a limit that was lowered.
    init(_ settings: [String: NamespaceSettings], diskLimit: Int64, memoryLimit: Int64) {
        disk = Self.share(diskLimit, settings.mapValues(\.diskLimit))
        memory = Self.share(memoryLimit, settings.mapValues(\.memoryLimit))
    }

    /// Throws ``NamespaceError/overLimit(of:left:)`` if a namespace asks for more than before, and more than is left. A
    /// change that asks for no more than before is never refused, even when other limits have changed.
    static func check(
        _ settings: [String: NamespaceSettings], was old: [String: NamespaceSettings], for name: String,
        diskLimit: Int64, memoryLimit: Int64
    ) throws(NamespaceError) {
        if name == NamespaceName.default { return }
        try check(diskLimit, settings.mapValues(\.diskLimit), old[name].map(\.diskLimit), "--disk-limit", name)
        try check(memoryLimit, settings.mapValues(\.memoryLimit), old[name].map(\.memoryLimit), "--memory-limit", name)
    }

    private static func check(
        _ limit: Int64, _ wanted: [String: Int64?], _ old: Int64??, _ option: String, _ name: String
    ) throws(NamespaceError) {
        guard let wish = wanted[name].map({ own($0, limit) }), wish > (old.map { own($0, limit) } ?? -1) else { return }
        let left = max(0, limit - limit / defaultPart - sum(limit, wanted.filter { $0.key != name }))
        if wish > left { throw .overLimit(of: option, left: left) }
    }

    private static func share(_ limit: Int64, _ wanted: [String: Int64?]) -> [String: Int64] {
        let available = limit - limit / defaultPart
        let sum = sum(limit, wanted)
        var shares: [String: Int64] = [:]
        for (name, bytes) in wanted where name != NamespaceName.default {
            let own = own(bytes, limit)
            shares[name] = sum <= available ? own : Int64(Double(own) / Double(sum) * Double(available))
        }
        shares[NamespaceName.default] = limit - shares.values.reduce(0, +)
        return shares
    }

    private static func sum(_ limit: Int64, _ wanted: [String: Int64?]) -> Int64 {
        wanted.reduce(0) { sum, item in
            let (total, overflow) = sum.addingReportingOverflow(
                item.key == NamespaceName.default ? 0 : own(item.value, limit))
            return overflow ? .max : total
        }
    }

    private static func own(_ bytes: Int64?, _ limit: Int64) -> Int64 { bytes ?? limit / defaultPart }
}

/// The disk space granted to each namespace while quotas change. Space still in use is not granted again before it is
/// freed. A grant never falls below the smaller of its old value and the new quota. A plain value.
struct DiskGrants: Equatable {
    /// By ``Namespace/id``. A missing namespace has no grant yet.
    private(set) var granted: [Int: Int64] = [:]

    /// Grants the quotas, of which the sum is the disk limit, as far as space is free. Returns whether all are granted.
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
