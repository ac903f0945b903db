import Primitives

/// Reads a WARC file of version 1.0 or 1.1, piece by piece: a state machine without I/O. Its memory is at most that of
/// one head.
///
///     var parser = WARCParser()
///     try parser.parse(bytes) { part in … }      // for each piece of the decompressed file
///     try parser.finish()
package struct WARCParser {
    /// A piece of a record, in the order of the file.
    package enum Part {
        case head(WARCRecord)
        /// The next bytes of the block.
        case block(UnsafeRawBufferPointer)
        /// The block is complete.
        case end
    }

    /// The file is no WARC file from this record on; the text says why.
    package struct Malformed: Error, Equatable {
        package let reason: String
    }

    private enum State { case head, block, gap }

    /// The most bytes of a head.
    private static let headLimit = 64 << 10
    private var state = State.head
    private var head: [UInt8] = []
    /// The bytes of the block that are still missing.
    private var missing: Int64 = 0

    package init() {}

    package mutating func parse<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ problem: (Malformed) -> Failure, _ use: (Part) throws(Failure) -> Void
    ) throws(Failure) {
        var index = 0
        while index < bytes.count {
            switch state {
            case .gap where bytes[index] == .carriageReturn || bytes[index] == .lineFeed: index += 1
            case .gap: state = .head
            case .head:
                head.append(bytes[index])
                index += 1
                guard head.last == .lineFeed else { continue }
                guard head.count <= Self.headLimit else {
                    throw problem(Malformed(reason: "the head of a record is too long"))
                }
                guard Self.isWhole(head) else { continue }
                let record: WARCRecord
                do { record = try Self.record(head) } catch { throw problem(error) }
                head = []
                missing = record.length
                state = .block
                try use(.head(record))
                try endBlock(use)
            case .block:
                let count = Int(min(missing, Int64(bytes.count - index)))
                missing -= Int64(count)
                try use(.block(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count])))
                index += count
                try endBlock(use)
            }
        }
        guard head.count <= Self.headLimit else { throw problem(Malformed(reason: "the head of a record is too long")) }
    }

    /// Call at the end of the file. Throws if the last record is not whole.
    package func finish() throws(Malformed) {
        guard state == .gap || (state == .head && head.isEmpty) else {
            throw Malformed(reason: "the file ends within a record")
        }
    }

    private mutating func endBlock<Failure: Error>(_ use: (Part) throws(Failure) -> Void) throws(Failure) {
        guard missing == 0 else { return }
        state = .gap
        try use(.end)
    }

    /// Whether a head that ends with a line feed ends with an empty line.
    private static func isWhole(_ head: [UInt8]) -> Bool {
        let rest = head.dropLast()
        return rest.last == .lineFeed || (rest.last == .carriageReturn && rest.dropLast().last == .lineFeed)
    }

    private static func record(_ head: [UInt8]) throws(Malformed) -> WARCRecord {
        let lines = head.split(separator: .lineFeed).map { $0.last == .carriageReturn ? $0.dropLast() : $0 }
        guard let version = lines.first,
            version.elementsEqual("WARC/1.1".utf8) || version.elementsEqual("WARC/1.0".utf8)
        else { throw Malformed(reason: "a record does not begin with WARC/1.0 or WARC/1.1") }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() where !line.isEmpty {
            if line.first!.isFieldSpace, !fields.isEmpty {
                fields[fields.count - 1].value += " " + Self.text(line[...])
            } else {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                    throw Malformed(reason: "a line of a record's head is no field")
                }
                fields.append((text(line[..<colon]), text(line[(colon + 1)...])))
            }
        }
        var record = WARCRecord(kind: nil, fields: fields, length: 0)
        record.kind = record["WARC-Type"].flatMap { WARCRecord.Kind(rawValue: $0.lowercased()) }
        guard let length = record["Content-Length"].flatMap(Int64.init), length >= 0 else {
            throw Malformed(reason: "a record has no valid Content-Length")
        }
        record.length = length
        return record
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes.drop { $0.isFieldSpace }
        while let last = bytes.last, last.isFieldSpace { bytes = bytes.dropLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
