import Testing

@testable import Larder

@Suite("The shares of namespaces in the limits")
struct NamespaceQuotasTests {
    private static func settings(_ disk: [String: Int64?]) -> [String: NamespaceSettings] {
        var all = disk.mapValues { limit in
            var settings = NamespaceSettings()
            settings.diskLimit = limit
            return settings
        }
        all["default"] = NamespaceSettings()
        return all
    }

    @Test(
        "Each namespace gets its configured limit or a tenth of the server's limit; the default namespace gets the rest"
    )
    func shares() {
        let alone = NamespaceQuotas(Self.settings([:]), diskLimit: 1000, memoryLimit: 500)
        #expect(alone.disk == ["default": 1000])
        #expect(alone.memory == ["default": 500])
        let three = NamespaceQuotas(Self.settings(["a": 300, "b": nil]), diskLimit: 1000, memoryLimit: 500)
        #expect(three.disk == ["a": 300, "b": 100, "default": 600])
        #expect(three.memory == ["a": 50, "b": 50, "default": 400])
    }

    @Test(
        "Under a lower server limit, all quotas shrink in proportion, and their sum fits the limit"
    )
    func shrunken() {
        let quotas = NamespaceQuotas(Self.settings(["a": 600, "b": 1200]), diskLimit: 1000, memoryLimit: 500)
        #expect(quotas.disk == ["a": 300, "b": 600, "default": 100])
        #expect(quotas.disk.values.reduce(0, +) == 1000)
    }

    @Test(
        "A quota is refused only if it is new or higher, and the quotas would exceed nine tenths of the server's limit")
    func overLimit() throws {
        func check(_ disk: [String: Int64?], was old: [String: Int64?] = [:], _ name: String) throws {
            try NamespaceQuotas.check(
                Self.settings(disk), was: Self.settings(old), for: name, diskLimit: 1000, memoryLimit: 500)
        }
        try check(["a": 900], "a")
        #expect(throws: NamespaceError.overLimit(of: "--disk-limit", left: 900)) { try check(["a": 901], "a") }
        #expect(throws: NamespaceError.overLimit(of: "--disk-limit", left: 100)) {
            try check(["a": 800, "b": 101], "b")
        }
        #expect(throws: NamespaceError.overLimit(of: "--disk-limit", left: 0)) { try check(["a": 2000, "b": 1], "b") }
        #expect(throws: NamespaceError.overLimit(of: "--disk-limit", left: 899)) {
            try check(["a": .max, "b": 1], "a")
        }
        try check(["a": .max, "b": 0], "default")
        try check(["a": 2000, "b": 500], was: ["a": 2000, "b": 500], "a")
        try check(["a": 1999, "b": nil], was: ["a": 2000, "b": nil], "a")
        try check(["a": 850, "b": nil], was: ["a": 850, "b": nil], "b")
        #expect(throws: NamespaceError.self) { try check(["a": 2001, "b": 500], was: ["a": 2000, "b": 500], "a") }
    }
}

@Suite("The transfer of disk space between namespaces")
struct DiskGrantsTests {
    @Test("Space that an ended namespace still takes is not granted again before it is freed")
    func retired() {
        // Of 1,000 bytes, namespace 0 had 100, and namespace 1 had 900. Both were full, and namespace 1 has ended.
        // Namespace 2 gets the quota of namespace 1.
        var grants = DiskGrants(granted: [0: 100, 1: 900])
        let quotas: [Int: Int64] = [0: 100, 2: 900]
        let isComplete1 = grants.update(quotas: quotas, taken: [0: 100, 2: 0], retired: 900)
        #expect(!isComplete1)
        #expect(grants.granted == [0: 100, 2: 0])
        let isComplete2 = grants.update(quotas: quotas, taken: [0: 100, 2: 0], retired: 300)
        #expect(!isComplete2)
        #expect(grants.granted == [0: 100, 2: 600])
        // Namespace 2 has filled its 600 bytes. Namespace 1 has freed 200 more bytes, which namespace 2 gets.
        let isComplete3 = grants.update(quotas: quotas, taken: [0: 100, 2: 600], retired: 100)
        #expect(!isComplete3)
        #expect(grants.granted == [0: 100, 2: 800])
        let isComplete4 = grants.update(quotas: quotas, taken: [0: 100, 2: 600], retired: 0)
        #expect(isComplete4)
        #expect(grants.granted == quotas)
    }

    @Test("A smaller quota applies at once, and a larger quota as soon as space is freed")
    func handedOver() {
        var grants = DiskGrants(granted: [0: 1000])
        let quotas: [Int: Int64] = [0: 200, 1: 500, 2: 300]
        let isComplete5 = grants.update(quotas: quotas, taken: [0: 900], retired: 0)
        #expect(!isComplete5)
        // Namespace 0 still takes 900 of the 1,000 bytes. Namespaces 1 and 2 share the other 100 bytes in the ratio of
        // their quotas.
        #expect(grants.granted == [0: 200, 1: 62, 2: 37])
        let isComplete6 = grants.update(quotas: quotas, taken: [0: 400, 1: 62], retired: 0)
        #expect(!isComplete6)
        let granted = grants.granted
        #expect(granted[0] == 200 && granted.values.reduce(0, +) <= 800)
        #expect(granted[1]! > 62 && granted[2]! > 37)
        let isComplete7 = grants.update(quotas: quotas, taken: [0: 200, 1: 62], retired: 0)
        #expect(isComplete7)
        #expect(grants.granted == quotas)
    }

    @Test("A namespace that holds more than its quota at the start is granted exactly its quota")
    func overQuota() {
        var grants = DiskGrants(granted: [0: 100, 1: 900])
        let isComplete8 = grants.update(quotas: [0: 100, 1: 900], taken: [0: 100, 1: 2000], retired: 0)
        #expect(isComplete8)
        #expect(grants.granted == [0: 100, 1: 900])
    }

    @Test(
        "After any changes, the space that all namespaces take never exceeds the limit",
        arguments: 0..<20)
    func never(seed: UInt64) {
        var state = seed &* 6_364_136_223_846_793_005 &+ 1
        func random(_ bound: Int64) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(state >> 33) % max(1, bound)
        }
        let limit: Int64 = 1_000_000
        var grants = DiskGrants(granted: [0: limit])
        var taken: [Int: Int64] = [0: random(limit)]
        var (retired, next): (Int64, Int) = (0, 1)
        for _ in 0..<200 {
            switch random(4) {
            case 0:
                taken[next] = 0
                next += 1
            case 1 where taken.count > 1:
                let id = taken.keys.filter { $0 != 0 }.min()!
                retired += taken.removeValue(forKey: id)!
            default: retired -= random(retired + 1)
            }
            var quotas: [Int: Int64] = [:]
            for id in taken.keys where id != 0 { quotas[id] = limit / 10 * 9 / Int64(taken.count) }
            quotas[0] = limit - quotas.values.reduce(0, +)
            _ = grants.update(quotas: quotas, taken: taken, retired: retired)
            // A namespace above its grant frees a part of the excess. Every other namespace fills a part of its grant.
            for (id, bytes) in taken {
                let granted = grants.granted[id]!
                taken[id] = bytes > granted ? bytes - random(bytes - granted + 1) : bytes + random(granted - bytes + 1)
            }
            #expect(taken.values.reduce(0, +) + retired <= limit)
        }
    }
}
