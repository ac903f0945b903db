import DiskCache
import Primitives
import Testing

@testable import Larder

@Suite("The registry of namespaces")
struct NamespaceRegistryTests {
    private static func version(_ text: String?) -> NamespaceChange {
        var change = NamespaceChange()
        change.version = .some(text)
        return change
    }

    @Test("A registry is read back as it was written, with all settings")
    func roundTrip() throws {
        var registry = NamespaceRegistry()
        var change = NamespaceChange()
        (change.version, change.defaultTTL, change.layout) = ("\"\\ü\u{0}", .milliseconds(1500), .readable)
        (change.diskLimit, change.memoryLimit) = (1 << 40, 0)
        change.origins = try OriginRules(["*.example.com:8080", "[fc00::/7]:443"])
        #expect(try registry.put("all", change))
        #expect(try registry.put("none", NamespaceChange()))
        #expect(try registry.put("default", Self.version("1")))
        #expect(try NamespaceRegistry(text: registry.text) == registry)
        #expect(registry.places.map(\.name).sorted() == ["all.1", "default.3", "none.2"])
    }

    @Test(
        "A malformed registry is refused as unreadable",
        arguments: [
            "", "{}", "[]", #"{"format":0,"lastGeneration":0,"namespaces":[]}"#,
            #"{"format":1,"lastGeneration":0,"namespaces":[]}"#,
            #"{"format":1,"lastGeneration":0,"namespaces":[{"name":"default","generation":1}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":-1}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0},{"name":"../x","generation":1}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0,"diskLimit":"1"}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0},{"name":"default","generation":1}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0},{"name":"a","generation":0}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":1},{"name":"a","generation":1}]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0}],"unused":{}}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0}],"unused":["default"]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0}],"unused":["a.2"]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0}],"unused":["a"]}"#,
            #"{"format":1,"lastGeneration":1,"namespaces":[{"name":"default","generation":0}],"unused":["../x.1"]}"#,
        ])
    func unreadable(_ text: String) {
        #expect(throws: NamespaceRegistry.Unreadable.self) { try NamespaceRegistry(text: Array(text.utf8)) }
    }

    @Test("A registry of a newer Larder is reported as newer, and not as unreadable")
    func newer() {
        #expect(throws: NamespaceRegistry.Newer.self) {
            try NamespaceRegistry(text: Array(#"{"format":2,"spaces":{}}"#.utf8))
        }
    }

    @Test(
        "A new namespace or version begins in a directory that was never used before")
    func generations() throws {
        var registry = NamespaceRegistry()
        registry.skip(generationsUpTo: 6)
        #expect(registry.places == [NamespaceDirectory(namespace: "default")])
        #expect(try registry.put("a", NamespaceChange()))
        #expect(registry.records["a"]?.generation == 7)
        #expect(try !registry.put("a", NamespaceChange()))
        #expect(try registry.put("a", Self.version("1")))
        #expect(try !registry.put("a", Self.version("1")))
        #expect(registry.records["a"]?.generation == 8)
        #expect(try registry.put("a", Self.version(nil)))
        try registry.remove("a")
        #expect(try registry.put("a", Self.version("1")))
        #expect(registry.records["a"]?.generation == 10)
        #expect(Set(registry.unused.map(\.name)) == ["a.7", "a.8", "a.9"])
    }

    @Test(
        "Former directories, and directories recorded ahead of their creation, are listed as unused until their removal"
    )
    func unused() throws {
        var registry = NamespaceRegistry()
        registry.announce(NamespaceDirectory(namespace: "a", generation: 1))
        #expect(registry.lastGeneration == 1 && registry.places.map(\.name) == ["default"])
        #expect(try registry.put("default", Self.version("1")))
        #expect(try registry.put("b", NamespaceChange()))
        try registry.remove("b")
        #expect(Set(registry.unused.map(\.name)) == ["a.1", "default", "b.3"])
        #expect(try NamespaceRegistry(text: registry.text) == registry)
        registry.forgetUnused { $0.namespace == "default" }
        #expect(Set(registry.unused.map(\.name)) == ["a.1", "b.3"])
        registry.forgetUnused { _ in true }
        #expect(!String(decoding: registry.text, as: UTF8.self).contains("unused"))
    }

    @Test("An impossible change is refused, and leaves the registry unchanged")
    func refused() throws {
        var registry = NamespaceRegistry()
        _ = try registry.put("a", NamespaceChange())
        let before = registry
        var readable = NamespaceChange()
        readable.layout = .readable
        #expect(throws: NamespaceError.layoutNeedsVersion) { try registry.put("a", readable, layout: .hashed) }
        var large = NamespaceChange()
        large.diskLimit = 1
        #expect(throws: NamespaceError.isDefault) { try registry.put("default", large) }
        #expect(throws: NamespaceError.isDefault) { try registry.remove("default") }
        #expect(throws: NamespaceError.unknown("b")) { try registry.remove("b") }
        for name in ["", "A", "a.1", "..", "a/b", String(repeating: "a", count: 64)] {
            #expect(throws: NamespaceError.invalidName(name)) { try registry.put(name, NamespaceChange()) }
        }
        #expect(registry == before)
        // A change that names the present layout of the namespace needs no new version.
        let isAnew = try registry.put("a", readable, layout: .readable)
        #expect(!isAnew)
        readable.version = "2"
        readable.layout = .hashed
        #expect(try registry.put("a", readable, layout: .readable))
        for number in 0..<(TransferLimits.namespaceLimit - 2) { _ = try registry.put("n\(number)", NamespaceChange()) }
        #expect(throws: NamespaceError.tooMany(limit: 100)) { try registry.put("more", NamespaceChange()) }
        #expect(try !registry.put("a", NamespaceChange()))
    }
}
