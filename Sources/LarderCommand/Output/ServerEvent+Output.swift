import LarderClient
import Primitives

extension ServerEvent {
    func text(forTerminal: Bool) -> String {
        let cells = [
            Cell(data["time"]?.stringValue ?? ""), Cell(type), Cell(data["namespace"]?.stringValue ?? ""),
            Cell(["url", "key", "name"].lazy.compactMap { data[$0]?.stringValue }.first ?? ""), details,
        ]
        let texts = cells.map { $0.text(forTerminal: forTerminal) }
        return forTerminal ? texts.filter { !$0.isEmpty }.joined(separator: "  ") : texts.joined(separator: "\t")
    }

    private var details: Cell {
        if let words = data["error"]?["detail"]?.stringValue { return Cell(words) }
        if type == "outbox.changed" { return Cell(change) }
        if data["fromCache"] == true { return Cell("from the cache") }
        guard let received = data["receivedBytes"]?.countValue else { return Cell("") }
        guard let total = data["totalBytes"]?.countValue else { return Cell(bytes: received) }
        return Cell(plain: "\(received)/\(total)", words: "\(Words.bytes(received)) of \(Words.bytes(total))")
    }

    /// The id and the new state of a change, and the kind of its problem: `7 conflict, clash`.
    private var change: String {
        let state = [data["id"]?.text, data["state"]?.stringValue].compactMap(\.self).joined(separator: " ")
        return [state, data["problem"]?.stringValue ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
    }
}
