import DiskCache
import Primitives

/// The list of namespaces, as stored in `namespaces.json` in the cache directory. A plain value.
struct NamespaceRegistry: Equatable {
    struct Record: Equatable {
        /// The number of the namespace's directory.
        var generation = 0
        var settings = NamespaceSettings()
    }

    /// By name, with the default namespace.
    private(set) var records = [NamespaceName.default: Record()]
    /// The last number given to a directory. No number is used twice, because the old directory may still exist.
    private(set) var lastGeneration = 0
    /// The directories that the registry has numbered and that no namespace uses yet or any more. Only these
    /// directories may be removed. Larder did not make the directories outside this set and ``places``.
    private(set) var unused: Set<NamespaceDirectory> = []

    static let fileName = "namespaces.json"

    init() {}

    var places: Set<NamespaceDirectory> { Set(records.keys.compactMap(place)) }

    func place(of name: String) -> NamespaceDirectory? {
        records[name].map { NamespaceDirectory(namespace: name, generation: $0.generation) }
    }
    var settings: [String: NamespaceSettings] { records.mapValues(\.settings) }

    /// Returns whether the namespace is begun anew, without entries. `layout` is the server's default.
    mutating func put(
        _ name: String, _ change: NamespaceChange, layout: Layout = Configuration().layout,
        limit: Int = TransferLimits.namespaceLimit
    ) throws(NamespaceError) -> Bool {
        guard NamespaceName.isValid(name) else { throw .invalidName(name) }
        let old = records[name]
        guard old != nil || records.count < limit else { throw .tooMany(limit: limit) }
        let settings = change.applied(to: old?.settings ?? NamespaceSettings())
        if name == NamespaceName.default, settings.diskLimit != nil || settings.memoryLimit != nil {
            throw .isDefault
        }
        let isAnew = old?.settings.version != settings.version || old == nil
        guard isAnew || (old?.settings.layout ?? layout) == (settings.layout ?? layout) else {
            throw .layoutNeedsVersion
        }
        if isAnew {
            lastGeneration += 1
            if let place = place(of: name) { unused.insert(place) }
        }
        records[name] = Record(generation: isAnew ? lastGeneration : old?.generation ?? 0, settings: settings)
        return isAnew
    }

    mutating func remove(_ name: String) throws(NamespaceError) {
        guard name != NamespaceName.default else { throw .isDefault }
        guard let place = place(of: name) else { throw .unknown(name) }
        records[name] = nil
        unused.insert(place)
    }

    /// Records a directory as unused before it is created, so that the next start may remove it after a kill.
    mutating func announce(_ place: NamespaceDirectory) {
        lastGeneration = max(lastGeneration, place.generation)
        unused.insert(place)
    }

    mutating func forgetUnused(where isGone: (NamespaceDirectory) -> Bool) {
        unused = unused.filter { !isGone($0) }
    }

    /// Throws ``Unreadable``, or ``Newer`` when a newer version of Larder has written the text.
    init(text: [UInt8]) throws {
        guard !text.isEmpty else { throw Unreadable(reason: "the file is empty") }
        guard let json = try? JSON(parsing: text, valueLimit: 100_000) else {
            throw Unreadable(reason: "the file is not JSON")
        }
        let format = try Self.value(json["format"]?.intValue, "\"format\" is not a number")
        if format > Self.format { throw Newer() }
        guard format == Self.format else { throw Unreadable(reason: "format \(format) is unknown") }
        let last = try Self.value(json["lastGeneration"]?.intValue, "\"lastGeneration\" is not a number")
        let items = try Self.value(json["namespaces"]?.arrayValue, "\"namespaces\" is not a list")
        lastGeneration = last
        records = [:]
        var generations: Set<Int> = []
        for (index, item) in items.enumerated() {
            guard let name = item["name"]?.stringValue, NamespaceName.isValid(name), records[name] == nil,
                let generation = item["generation"]?.intValue, (0...last).contains(generation),
                generation > 0 || name == NamespaceName.default, generations.insert(generation).inserted,
                let settings = try? NamespaceSettings(item)
            else { throw Unreadable(reason: "\"namespaces\" has an invalid element at \(index)") }
            records[name] = Record(generation: generation, settings: settings)
        }
        guard records[NamespaceName.default] != nil else {
            throw Unreadable(reason: "the namespace \"\(NamespaceName.default)\" is missing")
        }
        // Earlier versions of Larder did not record unused directories.
        guard let member = json["unused"] else { return }
        let places = places
        for (index, item) in try Self.value(member.arrayValue, "\"unused\" is not a list").enumerated() {
            guard let place = item.stringValue.flatMap(NamespaceDirectory.init(name:)),
                place.generation > 0 || place.namespace == NamespaceName.default,
                place.generation <= last, !places.contains(place)
            else { throw Unreadable(reason: "\"unused\" has an invalid element at \(index)") }
            unused.insert(place)
        }
    }

    fileprivate static func value<Value>(_ value: Value?, _ reason: String) throws(Unreadable) -> Value {
        guard let value else { throw Unreadable(reason: reason) }
        return value
    }

    private static let format = 1

    struct Unreadable: Error {
        /// A clause that begins with its subject.
        let reason: String
    }

    struct Newer: Error {}

    /// Raises the last number to the number of an existing directory, if the file states a lower number.
    mutating func skip(generationsUpTo last: Int) {
        lastGeneration = max(lastGeneration, last)
    }

    var text: [UInt8] {
        let items = records.sorted { $0.key < $1.key }.map { name, record in
            JSON.object(
                [.init("name", .string(name)), .init("generation", .number(record.generation))]
                    + record.settings.members)
        }
        var members: [JSON.Member] = [
            .init("format", .number(Self.format)), .init("lastGeneration", .number(lastGeneration)),
            .init("namespaces", .array(items)),
        ]
        if !unused.isEmpty { members.append(.init("unused", .array(unused.map(\.name).sorted().map(JSON.string)))) }
        var text = JSON.object(members).utf8
        text.append(UInt8(ascii: "\n"))
        return text
    }
}

extension NamespaceSettings {
    /// Omits the settings that are `nil`.
    var members: [JSON.Member] {
        let members: [(String, JSON?)] = [
            ("version", version.map { .string($0) }),
            ("defaultTTLMilliseconds", defaultTTL.map { .number($0.milliseconds) }),
            ("diskLimit", diskLimit.map { .number($0) }), ("memoryLimit", memoryLimit.map { .number($0) }),
            ("layout", layout.map { .string($0.rawValue) }),
            ("origins", origins.map { .array($0.texts.map { .string($0) }) }),
            ("contentCaching", contentCaching.map { .string($0.rawValue) }),
        ]
        return members.compactMap { name, value in value.map { JSON.Member(name, $0) } }
    }

    fileprivate init(_ json: JSON) throws {
        func value<Value>(_ name: String, _ read: (JSON) -> Value?) throws -> Value? {
            guard let member = json[name] else { return nil }
            return try NamespaceRegistry.value(read(member), "\"\(name)\" is invalid")
        }
        version = try value("version", \.stringValue)
        defaultTTL = try value("defaultTTLMilliseconds") { $0.intValue.map { .milliseconds($0) } }
        diskLimit = try value("diskLimit") { $0.intValue.map(Int64.init) }
        memoryLimit = try value("memoryLimit") { $0.intValue.map(Int64.init) }
        layout = try value("layout") { $0.stringValue.flatMap(Layout.init(rawValue:)) }
        origins = try value("origins") { json in
            (json.arrayValue?.map { $0.stringValue ?? "" }).flatMap { try? OriginRules($0) }
        }
        contentCaching = try value("contentCaching") { $0.stringValue.flatMap(ContentCaching.init(rawValue:)) }
    }
}

extension JSON {
    /// The value as a whole number that is not negative.
    fileprivate var intValue: Int? {
        if case .number(let text) = self, let value = Int(text), value >= 0 { value } else { nil }
    }
}
