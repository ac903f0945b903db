/// How the server's limits are shared out: each namespace has what it was given, the default one what they leave.
struct NamespaceQuotas: Equatable {
    /// Bytes on disk by the namespace's name.
    private(set) var disk: [String: Int64]
    /// Bytes in memory by the namespace's name.
    private(set) var memory: [String: Int64]

    /// Of each limit so much stays with the default namespace: one of so many parts.
    static let defaultPart: Int64 = 10

    /// Shares the limits out. Where the settings are for more than there is, because the server has been given less
    /// since, each has less in proportion.
    init(_ settings: [String: NamespaceSettings], diskLimit: Int64, memoryLimit: Int64) {
        disk = Self.share(diskLimit, settings.mapValues(\.diskLimit))
        memory = Self.share(memoryLimit, settings.mapValues(\.memoryLimit))
    }

    /// Throws ``NamespaceError/overLimit(of:left:)`` when a namespace is to have more than before, and more than there
    /// is. Whoever wants nothing more is not refused because the server, or another, has changed.
    ///
    /// - Parameters:
    ///   - settings: those that are to hold.
    ///   - old: those that hold.
    ///   - name: which of them is to change.
    static func check(
        _ settings: [String: NamespaceSettings], was old: [String: NamespaceSettings], for name: String,
        diskLimit: Int64, memoryLimit: Int64
    ) throws(NamespaceError) {
        // It has what the others leave.
        if name == LarderService.defaultNamespace { return }
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
        for (name, bytes) in wanted where name != LarderService.defaultNamespace {
            let own = own(bytes, limit)
            shares[name] = sum <= available ? own : Int64(Double(own) / Double(sum) * Double(available))
        }
        shares[LarderService.defaultNamespace] = limit - shares.values.reduce(0, +)
        return shares
    }

    private static func sum(_ limit: Int64, _ wanted: [String: Int64?]) -> Int64 {
        wanted.reduce(0) { sum, item in
            let (total, overflow) = sum.addingReportingOverflow(
                item.key == LarderService.defaultNamespace ? 0 : own(item.value, limit))
            return overflow ? .max : total
        }
    }

    private static func own(_ bytes: Int64?, _ limit: Int64) -> Int64 { bytes ?? limit / defaultPart }
}
