import Foundation
import GRDB
import Primitives

/// The end of a page: the value of the last row in the order of the listing and, because values repeat, its id. As
/// text: the base64url of 8 bytes that identify the query, 8 bytes of the id, a byte for the type, and the value.
struct ListCursor: Equatable {
    var value: DatabaseValue
    var id: Int64
}

extension ListCursor {
    init(at row: EntryRow, sort: EntrySort) {
        let entry = row.entry
        let value =
            switch sort.order {
            case .key: entry.key.databaseValue
            case .url: (entry.url ?? "").databaseValue
            case .contentLength: entry.contentLength.databaseValue
            case .expiryDate: entry.expiryDate.milliseconds.databaseValue
            case .lastAccessDate: entry.lastAccessDate.milliseconds.databaseValue
            case .hits: entry.hits.databaseValue
            }
        self.init(value: value, id: row.id)
    }

    init?(_ text: String, filter: EntryFilter, sort: EntrySort) {
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let data = Data(base64Encoded: base64) else { return nil }
        let bytes = [UInt8](data)
        guard bytes.count >= 17, Array(bytes[..<8]) == Self.queryMark(filter, sort) else { return nil }
        let (id, rest) = (Self.number(bytes[8..<16]), bytes[17...])
        let value: DatabaseValue
        switch bytes[16] {
        case 0:
            guard rest.count == 8 else { return nil }
            value = Self.number(rest).databaseValue
        case 1:
            guard let string = String(validating: rest, as: UTF8.self) else { return nil }
            value = string.databaseValue
        default: return nil
        }
        self.init(value: value, id: id)
    }

    func text(filter: EntryFilter, sort: EntrySort) -> String {
        var bytes = Self.queryMark(filter, sort) + Self.bytes(id)
        if let number = Int64.fromDatabaseValue(value) {
            bytes += [0] + Self.bytes(number)
        } else {
            bytes += [1] + Array((String.fromDatabaseValue(value) ?? "").utf8)
        }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    private static func queryMark(_ filter: EntryFilter, _ sort: EntrySort) -> [UInt8] {
        let parts = filter.texts + [sort.order.rawValue, sort.descending ? "-" : "+"]
        let text = JSON.array(parts.map(JSON.string(orNull:))).utf8
        return Array(text.withUnsafeBytes { digest(of: $0) }.prefix(8))
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reduce(0) { $0 << 8 | Int64($1) }
    }
}
