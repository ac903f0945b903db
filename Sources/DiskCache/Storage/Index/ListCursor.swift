import Foundation
import GRDB
import Primitives

/// The end of a page: the last row's value in the column that sorts the listing and, because values repeat, its id. As
/// text, it is the base64url of a JSON array with three elements: a text that identifies the query; the id; the value.
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
        guard let data = Data(base64Encoded: base64), let parts = try? JSON(parsing: [UInt8](data)).arrayValue,
            parts.count == 3, parts[0] == Self.queryMark(filter, sort), let id = parts[1].integerValue,
            let value = parts[2].integerValue?.databaseValue ?? parts[2].stringValue?.databaseValue
        else { return nil }
        self.init(value: value, id: id)
    }

    func text(filter: EntryFilter, sort: EntrySort) -> String {
        let number = Int64.fromDatabaseValue(value).map { JSON.number($0) }
        let value = number ?? .string(String.fromDatabaseValue(value) ?? "")
        return Data(JSON.array([Self.queryMark(filter, sort), .number(id), value]).utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func queryMark(_ filter: EntryFilter, _ sort: EntrySort) -> JSON {
        let parts = filter.texts + [sort.order.rawValue, sort.descending ? "-" : "+"]
        let text = JSON.array(parts.map(JSON.string(orNull:))).utf8
        return .string(text.withUnsafeBytes { digest(of: $0) }.prefix(8).hex)
    }
}
