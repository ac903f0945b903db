import DiskCache
import Foundation
import Primitives

/// The namespaces that there are, as they are written down in `namespaces.json` of the cache directory. A plain value.
struct NamespaceRegistry: Equatable {
    /// One of them.
    struct Record: Equatable {
        /// Which of its directories it has.
        var generation = 0
        var settings = NamespaceSettings()
    }

    /// By name. The default namespace is always there.
    private(set) var records = [LarderService.defaultNamespace: Record()]
    /// The last number that a directory was given: none is used twice, because what was in it may still be there.
    private(set) var lastGeneration = 0

    /// How many namespaces there may be, where descriptors do not allow for less.
    static let limit = 100
    /// The file's name.
    static let fileName = "namespaces.json"

    /// Those of a server that has only the default one.
    init(lastGeneration: Int = 0) {
        self.lastGeneration = lastGeneration
    }

    /// Everything but the default namespace was lost, and of that one nothing is known either: all begin anew.
    init(beginningAfter lastGeneration: Int) {
        self.lastGeneration = lastGeneration + 1
        records[LarderService.defaultNamespace]?.generation = lastGeneration + 1
    }

    /// The directories that are in use.
    var places: Set<NamespaceDirectory> {
        Set(records.map { NamespaceDirectory(namespace: $0.key, generation: $0.value.generation) })
    }

    /// What was chosen of each.
    var settings: [String: NamespaceSettings] { records.mapValues(\.settings) }

    // MARK: - Changes

    /// Makes a namespace, or changes what is chosen of it.
    ///
    /// - Parameters:
    ///   - layout: the server's own.
    ///   - limit: how many there may be.
    /// - Returns: whether it is begun anew, empty.
    mutating func put(
        _ name: String, _ change: NamespaceChange, layout: Layout = Configuration().layout,
        limit: Int = NamespaceRegistry.limit
    ) throws(NamespaceError) -> Bool {
        guard CacheDirectory.isNamespace(name) else { throw .invalidName(name) }
        let old = records[name]
        guard old != nil || records.count < limit else { throw .tooMany(limit: limit) }
        let settings = change.applied(to: old?.settings ?? NamespaceSettings())
        if name == LarderService.defaultNamespace, settings.diskLimit != nil || settings.memoryLimit != nil {
            throw .isDefault
        }
        let isAnew = old?.settings.version != settings.version || old == nil
        guard isAnew || (old?.settings.layout ?? layout) == (settings.layout ?? layout) else {
            throw .layoutNeedsVersion
        }
        if isAnew { lastGeneration += 1 }
        records[name] = Record(generation: isAnew ? lastGeneration : old?.generation ?? 0, settings: settings)
        return isAnew
    }

    /// Removes a namespace.
    mutating func remove(_ name: String) throws(NamespaceError) {
        guard name != LarderService.defaultNamespace else { throw .isDefault }
        guard records.removeValue(forKey: name) != nil else { throw .unknown(name) }
    }

    // MARK: - As text

    /// Reads it. Throws ``Unreadable`` when it is not what ``text`` has written, and ``Newer`` when a newer Larder has.
    init(text: [UInt8]) throws {
        guard let json = try? JSON(parsing: text, valueLimit: 100_000), let format = json["format"]?.intValue else {
            throw Unreadable()
        }
        if format > Self.format { throw Newer() }
        guard format == Self.format, let last = json["lastGeneration"]?.intValue, last >= 0,
            let items = json["namespaces"]?.arrayValue
        else { throw Unreadable() }
        lastGeneration = last
        records = [:]
        var generations: Set<Int> = []
        for item in items {
            guard let name = item["name"]?.stringValue, CacheDirectory.isNamespace(name), records[name] == nil,
                let generation = item["generation"]?.intValue, (0...last).contains(generation),
                generation > 0 || name == LarderService.defaultNamespace, generations.insert(generation).inserted
            else { throw Unreadable() }
            records[name] = Record(generation: generation, settings: try NamespaceSettings(item))
        }
        guard records[LarderService.defaultNamespace] != nil else { throw Unreadable() }
    }

    private static let format = 1

    struct Unreadable: Error, CustomStringConvertible {
        var description: String { "it is not as Larder wrote it" }
    }

    struct Newer: Error, CustomStringConvertible {
        var description: String { "it was written by a newer Larder" }
    }

    /// The numbers of directories that there are were given before, whatever the file says.
    mutating func skip(generationsUpTo last: Int) {
        lastGeneration = max(lastGeneration, last)
    }

    /// The file's content: JSON that a person can read.
    var text: [UInt8] {
        let items = records.sorted { $0.key < $1.key }.map { name, record in
            JSON.object(
                [.init("name", .string(name)), .init("generation", .number(record.generation))]
                    + record.settings.members)
        }
        var text = JSON.object([
            .init("format", .number(Self.format)), .init("lastGeneration", .number(lastGeneration)),
            .init("namespaces", .array(items)),
        ]).utf8
        text.append(UInt8(ascii: "\n"))
        return text
    }
}

extension NamespaceSettings {
    /// The members of a JSON object that ``init(_:)`` reads; what was not chosen is left out.
    var members: [JSON.Member] {
        var members: [JSON.Member] = []
        if let version { members.append(.init("version", .string(version))) }
        if let defaultTTL { members.append(.init("defaultTTLMilliseconds", .number(defaultTTL.milliseconds))) }
        if let diskLimit { members.append(.init("diskLimit", .number(diskLimit))) }
        if let memoryLimit { members.append(.init("memoryLimit", .number(memoryLimit))) }
        if let layout { members.append(.init("layout", .string(layout.rawValue))) }
        if let origins {
            members.append(.init("origins", .array(origins.texts.map { .string($0) })))
        }
        return members
    }

    fileprivate init(_ json: JSON) throws {
        func value<Value>(_ name: String, _ read: (JSON) -> Value?) throws -> Value? {
            guard let member = json[name] else { return nil }
            guard let value = read(member) else { throw NamespaceRegistry.Unreadable() }
            return value
        }
        version = try value("version", \.stringValue)
        defaultTTL = try value("defaultTTLMilliseconds") { $0.intValue.map { .milliseconds($0) } }
        diskLimit = try value("diskLimit") { $0.intValue.map(Int64.init) }
        memoryLimit = try value("memoryLimit") { $0.intValue.map(Int64.init) }
        layout = try value("layout") { $0.stringValue.flatMap(Layout.init(rawValue:)) }
        origins = try value("origins") { json in
            (json.arrayValue?.map { $0.stringValue ?? "" }).flatMap { try? OriginRules($0) }
        }
    }
}

extension JSON {
    /// A whole number that is not negative.
    fileprivate var intValue: Int? {
        if case .number(let text) = self, let value = Int(text), value >= 0 { value } else { nil }
    }
}
