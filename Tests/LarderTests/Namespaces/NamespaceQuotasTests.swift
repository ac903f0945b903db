import Testing

@testable import Larder

@Suite("How namespaces share the limits")
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
        "alone, the default namespace has everything; else each has its own, or a tenth, and the default one the rest")
    func shares() {
        let alone = NamespaceQuotas(Self.settings([:]), diskLimit: 1000, memoryLimit: 500)
        #expect(alone.disk == ["default": 1000])
        #expect(alone.memory == ["default": 500])
        let three = NamespaceQuotas(Self.settings(["a": 300, "b": nil]), diskLimit: 1000, memoryLimit: 500)
        #expect(three.disk == ["a": 300, "b": 100, "default": 600])
        #expect(three.memory == ["a": 50, "b": 50, "default": 400])
    }

    @Test(
        "when the server has been given less than they were promised, each has less in proportion, and no sum exceeds it"
    )
    func shrunken() {
        let quotas = NamespaceQuotas(Self.settings(["a": 600, "b": 1200]), diskLimit: 1000, memoryLimit: 500)
        #expect(quotas.disk == ["a": 300, "b": 600, "default": 100])
        #expect(quotas.disk.values.reduce(0, +) == 1000)
    }

    @Test("together they may have nine tenths; who wants nothing more is not refused for what has changed elsewhere")
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
