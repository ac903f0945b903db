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
        "Each namespace has its limit or a tenth, and the default namespace has the rest")
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

    @Test("Namespaces may have nine tenths together, and a change that asks for no more is not refused")
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
