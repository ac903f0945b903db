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
    /// Directories that the registry has numbered and that no namespace uses: not yet, or not any more. Only these may
    /// be removed. A directory that is neither here nor in ``places`` was made by someone else.
    private(set) var unused: Set<NamespaceDirectory> = []

    /// How many namespaces there may be, where descriptors do not allow for less.
    static let limit = 100
    /// The file's name.
    static let fileName = "namespaces.json"

    /// Those of a server that has only the default one.
    init(lastGeneration: Int = 0) {
        self.lastGeneration = lastGeneration
    }

    /// The directories that are in use.
    var places: Set<NamespaceDirectory> { Set(records.keys.compactMap(place)) }

    /// The directory of a namespace; `nil` when there is no namespace of that name.
    func place(of name: String) -> NamespaceDirectory? {
        records[name].map { NamespaceDirectory(namespace: name, generation: $0.generation) }
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
        if isAnew {
            lastGeneration += 1
            if let place = place(of: name) { unused.insert(place) }
        }
        records[name] = Record(generation: isAnew ? lastGeneration : old?.generation ?? 0, settings: settings)
        return isAnew
    }

    /// Removes a namespace.
    mutating func remove(_ name: String) throws(NamespaceError) {
        guard name != LarderService.defaultNamespace else { throw .isDefault }
        guard let place = place(of: name) else { throw .unknown(name) }
        records[name] = nil
        unused.insert(place)
    }

    /// Numbers a directory before it is made, as unused: a process that is killed while it makes it leaves a directory
    /// that the next start may remove.
    mutating func announce(_ place: NamespaceDirectory) {
        lastGeneration = max(lastGeneration, place.generation)
        unused.insert(place)
    }

    /// Forgets unused directories that are gone.
    ///
    /// - Parameter isGone: whether a directory is.
    mutating func forgetUnused(where isGone: (NamespaceDirectory) -> Bool) {
        unused = unused.filter { !isGone($0) }
    }

    // MARK: - As text

    /// Reads it. Throws ``Unreadable`` when it is not as ``text`` writes it, ``Newer`` when a newer Larder wrote it.
    init(text: [UInt8]) throws {
        guard !text.isEmpty else { throw Unreadable(reason: "it is empty") }
        guard let json = try? JSON(parsing: text, valueLimit: 100_000) else {
            throw Unreadable(reason: "it is not JSON")
        }
        guard let format = json["format"]?.intValue else { throw Unreadable(reason: "\"format\" is no number") }
        if format > Self.format { throw Newer() }
        guard format == Self.format else { throw Unreadable(reason: "there is no format \(format)") }
        guard let last = json["lastGeneration"]?.intValue else {
            throw Unreadable(reason: "\"lastGeneration\" is no number")
        }
        guard let items = json["namespaces"]?.arrayValue else {
            throw Unreadable(reason: "\"namespaces\" is no list")
        }
        lastGeneration = last
        records = [:]
        var generations: Set<Int> = []
        for (index, item) in items.enumerated() {
            guard let name = item["name"]?.stringValue, CacheDirectory.isNamespace(name), records[name] == nil,
                let generation = item["generation"]?.intValue, (0...last).contains(generation),
                generation > 0 || name == LarderService.defaultNamespace, generations.insert(generation).inserted,
                let settings = try? NamespaceSettings(item)
            else { throw Unreadable(reason: "\"namespaces\" has no namespace at \(index)") }
            records[name] = Record(generation: generation, settings: settings)
        }
        guard records[LarderService.defaultNamespace] != nil else {
            throw Unreadable(reason: "the namespace \"\(LarderService.defaultNamespace)\" is missing")
        }
        unused = try Self.unused(in: json, lastGeneration: last, besides: places)
    }

    /// Those of a file; a Larder that did not write them down had none to remove.
    private static func unused(
        in json: JSON, lastGeneration: Int, besides places: Set<NamespaceDirectory>
    ) throws -> Set<NamespaceDirectory> {
        guard let member = json["unused"] else { return [] }
        guard let items = member.arrayValue else { throw Unreadable(reason: "\"unused\" is no list") }
        return try items.enumerated().reduce(into: []) { unused, item in
            guard let place = item.element.stringValue.flatMap(NamespaceDirectory.init(name:)),
                place.generation > 0 || place.namespace == LarderService.defaultNamespace,
                place.generation <= lastGeneration, !places.contains(place)
            else { throw Unreadable(reason: "\"unused\" has no unused directory at \(item.offset)") }
            unused.insert(place)
        }
    }

    private static let format = 1

    /// The file is not as Larder writes it.
    struct Unreadable: Error {
        /// What is wrong: a clause that begins with its subject.
        let reason: String
    }

    /// A newer Larder wrote the file.
    struct Newer: Error {}

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
        if let contentCaching { members.append(.init("contentCaching", .string(contentCaching.rawValue))) }
        return members
    }

    private struct Malformed: Error {
        let member: String
    }

    fileprivate init(_ json: JSON) throws {
        func value<Value>(_ name: String, _ read: (JSON) -> Value?) throws -> Value? {
            guard let member = json[name] else { return nil }
            guard let value = read(member) else { throw Malformed(member: name) }
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
        contentCaching = try value("contentCaching") { $0.stringValue.flatMap(ContentCaching.init(rawValue:)) }
    }
}

extension JSON {
    /// A whole number that is not negative.
    fileprivate var intValue: Int? {
        if case .number(let text) = self, let value = Int(text), value >= 0 { value } else { nil }
    }
}
