import GRDB
import Primitives

/// A row of `entries`: the entry, and the columns that only the store needs.
package struct EntryRow: Sendable {
    /// Never used again after the entry is gone.
    var id: Int64
    var entry: Entry
    /// The bytes that the entry counts against the disk limit.
    var cost: Int64
    /// Relative to the namespace's directory; `nil` when the body is in the slab.
    var path: String?
    /// `nil` when the body is in a file.
    var slot: Slot?
    /// The identity of the file when it was published or last hashed.
    var identity: FileIdentity?
    /// Has no meaning while the entry is pinned.
    var place: QueuePlace
    /// The number of the entry's arrival in its queue. The lowest is the oldest. No number is used twice.
    var turn: Int64
    private static let rowCost: Int64 = 512
    /// The expiry date of every resource, and of no other entry. By it, queries leave out resources with the indexes
    /// that they use in any case. A ttl ends earlier: it has at most 100 years.
    static let resourceExpiry = Timestamp(milliseconds: 1 << 60)

    /// The sum of the body's file in whole blocks of 4,096 bytes, or of its slot, and of the row with its texts.
    static func cost(of entry: Entry, in slot: Slot?) -> Int64 {
        // Key, URL and host are stored in the row and again in an index.
        let repeated = entry.key.utf8.count + (entry.url?.utf8.count ?? 0) + (entry.record.host?.utf8.count ?? 0)
        let bodyCost = slot.map { Int64($0.slotClass.size) } ?? fileCost(entry.contentLength)
        return bodyCost + rowCost + entry.textLength + Int64(repeated)
    }

    /// An estimate of the cost when only the length of the body and the URL are known.
    static func cost(bodyLength: Int64, isFile: Bool, url: String?) -> Int64 {
        let slotClass = isFile ? nil : SlotClass(holding: SlabRecord.length(ofBody: bodyLength))
        let bodyCost = slotClass.map { Int64($0.size) } ?? fileCost(bodyLength)
        return bodyCost + rowCost + 2 * Int64(url?.utf8.count ?? 0)
    }

    private static func fileCost(_ length: Int64) -> Int64 { (length + 4095) / 4096 * 4096 }

    /// The column `pinned` is the sum of `pinnedBit` and of `heldUnit` for each holder. Entries with 0 may be evicted.
    static let pinnedBit = 1
    static let heldUnit = 2

    /// Columns in the order in which ``init(_:namespace:directory:)`` reads them.
    static let columns = """
        entries.id, key, kind, url, host, params, status, contentType, contentLength, etag, lastModified, digest, \
        isJSON, downloadStart, downloadEnd, created, ttl, expiry, staleAllowance, pinned, hits, lastAccess, cost, \
        version, tagList, fields, path, inode, modified, changed, queue, frequency, turn, \
        slot
        """

    /// Whether the entry is useless once it has expired.
    var isSweepable: Bool {
        !entry.hasValidator && entry.staleAllowance <= .zero && !entry.isExempt && entry.kind != .resource
    }

    /// Binds the values of ``columns``, `sweepable`, `canonicalURL` and `canonicalKey`.
    func bind(to statement: inout DirectStatement) {
        let record = entry.record
        statement.bind(id)
        statement.bind(record.key)
        statement.bind(record.kind.code)
        statement.bind(record.url ?? "")
        statement.bind(record.host)
        statement.bind(record.params)
        statement.bind(record.status)
        statement.bind(record.contentType)
        statement.bind(record.contentLength)
        statement.bind(record.etag)
        statement.bind(record.lastModified)
        statement.bind(record.digest)
        statement.bind(record.isJSON)
        statement.bind(record.downloadStartDate?.milliseconds)
        statement.bind(record.downloadEndDate?.milliseconds)
        statement.bind(record.createdDate.milliseconds)
        statement.bind(entry.ttl.milliseconds)
        statement.bind(entry.expiryDate.milliseconds)
        statement.bind(record.staleAllowance.milliseconds)
        statement.bind((record.pinned ? Self.pinnedBit : 0) + record.holders * Self.heldUnit)
        statement.bind(entry.hits)
        statement.bind(entry.lastAccessDate.milliseconds)
        statement.bind(cost)
        statement.bind(record.version)
        statement.bind(Self.list(fromTags: record.tags))
        statement.bind(record.fields)
        statement.bind(path)
        statement.bind(identity?.inode)
        statement.bind(identity?.modified)
        statement.bind(identity?.changed)
        statement.bind(Int(place.queue.rawValue))
        statement.bind(Int(place.frequency))
        statement.bind(turn)
        statement.bind(slot?.code)
        statement.bind(isSweepable)
        // The URLs of all other kinds are canonical already.
        let canonical = record.kind == .response ? record.url.flatMap { ResponseURL.canonical(of: $0) } : nil
        statement.bind(canonical)
        statement.bind(canonical.map(MD5Name.of))
    }

    /// The tags as a JSON text, so that reading an entry needs no second look-up; `nil` for no tags.
    static func list(fromTags tags: [String]) -> String? {
        tags.isEmpty ? nil : JSON.array(tags.map(JSON.string)).text
    }

    static func tags(fromList text: String?) -> [String] {
        guard let text, let array = try? JSON(parsing: text).arrayValue else { return [] }
        return array.compactMap(\.stringValue)
    }
}

extension EntryRow {
    /// The statement selects ``columns``.
    init(_ row: StatementRow, namespace: String, directory: String) throws {
        guard let kind = Entry.Kind(code: row[2]) else {
            throw DiskCacheError.index(code: 11, message: "an entry of an unknown kind")
        }
        let url: String = row[3]
        let path: String? = row[26]
        let version: Int64 = row[23]
        let exemption: Int = row[19]
        var record = Entry.Record(
            key: row[1], namespace: namespace, kind: kind, url: url.isEmpty ? nil : url, host: row[4], params: row[5],
            status: row[6], contentType: row[7], contentLength: row[8], etag: row[9], lastModified: row[10],
            digest: row.blob(11).map(Array.init) ?? [], isJSON: row[12],
            downloadStartDate: (row[13] as Int64?).map(Timestamp.init(milliseconds:)),
            downloadEndDate: (row[14] as Int64?).map(Timestamp.init(milliseconds:)),
            createdDate: Timestamp(milliseconds: row[15]), localPath: path.map { directory + "/" + $0 },
            tags: Self.tags(fromList: row[24]), pinned: exemption & Self.pinnedBit != 0, version: version,
            staleAllowance: .milliseconds(row[18] as Int64), fields: row[25])
        record.holders = exemption / Self.heldUnit
        guard let queue = UInt8(exactly: row[30] as Int64).flatMap(EvictionQueue.init) else {
            throw DiskCacheError.index(code: 11, message: "an entry in an unknown queue")
        }
        let entry = Entry(
            record, ttl: .milliseconds(row[16] as Int64), expiryDate: Timestamp(milliseconds: row[17]), hits: row[20],
            lastAccessDate: Timestamp(milliseconds: row[21]))
        self.init(
            id: row[0], entry: entry, cost: row[22], path: path, slot: (row[33] as Int64?).flatMap(Slot.init),
            identity: path.map { _ in
                FileIdentity(
                    inode: row[27] ?? 0, size: record.contentLength, modified: row[28] ?? 0, changed: row[29] ?? 0)
            },
            place: QueuePlace(queue: queue, frequency: UInt8(clamping: row[31] as Int64)), turn: row[32])
    }
}

extension Entry.Kind {
    /// In the order of their codes, which never change, because the index stores them.
    private static let coded: [Entry.Kind] = [.download, .json, .data, .response, .page, .resource]
    var code: Int { Self.coded.firstIndex(of: self)! }

    init?(code: Int) {
        guard Self.coded.indices.contains(code) else { return nil }
        self = Self.coded[code]
    }
}

/// The keys of all responses to a URL; see ``CacheKey``.
enum ResponseKeys {
    /// Selects the responses between ``bounds(ofMD5:)``, without callers' own keys. The index of keys serves it.
    static func condition(on column: String = "key") -> String {
        "\(column) > ? AND \(column) < ? AND length(\(column)) = 41 AND substr(\(column), 34) NOT GLOB '*[^0-9a-f]*'"
    }

    /// The texts between which the keys lie: a slash, which no key contains, is the character after the dot.
    static func bounds(ofMD5 md5: String) -> (first: String, last: String) { (md5 + ".", md5 + "/") }
}
