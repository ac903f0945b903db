/// The division of the server's limits among the namespaces, in bytes by name. Each namespace has its configured share,
/// and the default namespace has the rest.
struct NamespaceQuotas: Equatable {
    private(set) var disk: [String: Int64]
    private(set) var memory: [String: Int64]
    /// The divisor of the part that always belongs to the default namespace: a tenth of each limit.
    static let defaultPart: Int64 = 10

    /// Divides the limits. When the settings exceed a limit, because the limit of the server has been lowered since,
    /// all configured shares are reduced in proportion.
    init(_ settings: [String: NamespaceSettings], diskLimit: Int64, memoryLimit: Int64) {
        disk = Self.share(diskLimit, settings.mapValues(\.diskLimit))
        memory = Self.share(memoryLimit, settings.mapValues(\.memoryLimit))
    }

    /// Throws ``NamespaceError/overLimit(of:left:)`` when a namespace asks for more than before and more than is left.
    /// A change that asks for no more is never refused, even when the limits of the server or of another namespace have
    /// changed.
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
