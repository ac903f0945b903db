import HTTPTypes
import Primitives
import WebArchive

/// Reads the records of a WARC file, plain or compressed, or of all WARC files within a WACZ file. Names in a WACZ file
/// are only compared, and never become paths.
struct ArchiveReader {
    /// The most bytes of all records when decompressed, and of the list of pages.
    static let limit: Int64 = 8 << 30
    private static let pagesLimit: Int64 = 4 << 20
    private static let pieceLength = 256 << 10
    private let file: ArchiveFile
    private let zip: ZipReader?

    /// Throws ``PageError``.
    init(_ file: ArchiveFile) throws {
        self.file = file
        let isZip = try file.read(0, 4) == [0x50, 0x4b, 0x03, 0x04]
        do {
            zip = isZip ? try ZipReader(length: file.length) { try file.read($0, $1) } : nil
        } catch let problem as ZipReader.Problem {
            throw Self.error(problem)
        }
    }

    /// The URL of the archive's page: the first page of a WACZ file, or the first HTML document. `nil` without one.
    func page() throws -> String? {
        if let zip, let file = zip.file("pages/pages.jsonl") {
            var text: [UInt8] = []
            try Self.mapping { try zip.read(file, limit: Self.pagesLimit) { text += $0 } }
            for line in text.split(separator: .lineFeed) {
                if let json = try? JSON(parsing: Array(line)), let url = json["url"]?.stringValue { return url }
            }
        }
        struct Found: Error { let url: String }
        var current: (url: String, response: ArchivedResponse)?
        do {
            try records { part in
                switch part {
                case .head(let record):
                    current = record.kind == .response ? record.url.map { ($0, ArchivedResponse()) } : nil
                case .block(let bytes):
                    guard var held = current else { return }
                    // The head is enough. A later record reports a malformed one.
                    try? held.response.read(bytes, { $0 }) { (_) throws(ArchivedResponse.Malformed) in }
                    current = held
                    guard let head = held.response.head else { return }
                    current = nil
                    let type = head.fields.first { $0.name.lowercased() == "content-type" }?.value
                    if (200..<300).contains(head.status), MediaType(type).isHTML { throw Found(url: held.url) }
                case .end: current = nil
                }
            }
        } catch let found as Found {
            return found.url
        }
        return nil
    }

    /// Passes the parts of all records to `use`. Throws ``PageError``, and the errors of `use`.
    func records(_ use: @escaping (WARCParser.Part) throws -> Void) throws {
        guard let zip else {
            return try readArchive(use) { pass in
                var offset: Int64 = 0
                while offset < file.length {
                    let piece = try file.read(offset, Self.pieceLength)
                    try piece.withUnsafeBytes(pass)
                    offset += Int64(piece.count)
                }
            }
        }
        let archives = zip.files.filter { file in
            file.name.hasPrefix("archive/") && (file.name.hasSuffix(".warc") || file.name.hasSuffix(".warc.gz"))
        }
        guard !archives.isEmpty else { throw PageError.archive("the ZIP file has no file archive/NAME.warc.gz") }
        for archive in archives {
            try readArchive(use) { pass in
                try Self.mapping { try zip.read(archive, limit: Self.limit, pass) }
            }
        }
    }

    private func readArchive(
        _ use: @escaping (WARCParser.Part) throws -> Void,
        _ source: (@escaping (UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws {
        let gzip = GzipReader(limit: Self.limit)
        var parser = WARCParser()
        try source { bytes in
            try gzip.read(bytes, { Self.error($0) as any Error }) { bytes throws(any Error) in
                try parser.parse(bytes, { PageError.archive($0.reason) as any Error }) { part throws(any Error) in
                    try use(part)
                }
            }
        }
        guard gzip.isComplete else { throw PageError.archive("the file ends within a record") }
        do { try parser.finish() } catch { throw PageError.archive(error.reason) }
    }

    private static func error(_ problem: GzipReader.Problem) -> PageError {
        problem == .tooLarge ? .archiveTooLarge(limit: limit) : .archive("the compressed data are damaged")
    }

    private static func error(_ problem: ZipReader.Problem) -> PageError {
        switch problem {
        case .malformed(let reason): .archive(reason)
        case .tooLarge: .archiveTooLarge(limit: limit)
        }
    }

    private static func mapping(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let problem as ZipReader.Problem {
            throw error(problem)
        }
    }
}
