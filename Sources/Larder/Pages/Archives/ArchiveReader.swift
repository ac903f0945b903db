import HTTPTypes
import Primitives
import WebArchive

/// Reads the records of a WARC file, plain or compressed, or of all WARC files within a WACZ file. Names in a WACZ file
/// are only compared, and never become paths.
struct ArchiveReader {
    /// The most bytes of the records of all WARC files together, when decompressed.
    static let limit: Int64 = 8 << 30
    /// The most bytes of the list of pages.
    private static let pagesLimit: Int64 = 4 << 20
    private static let pieceLength = 256 << 10
    private let file: ArchiveFile
    private let zip: ZipReader?
    private let limit: Int64
    private let isCancelled: @Sendable () -> Bool

    /// `isCancelled` is called for each piece; `true` ends the reading with ``PageError/cancelled``. Throws
    /// ``PageError``.
    init(
        _ file: ArchiveFile, limit: Int64 = Self.limit, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws {
        self.file = file
        self.limit = limit
        self.isCancelled = isCancelled
        let isZip = try file.read(0, 4) == [0x50, 0x4b, 0x03, 0x04]
        do {
            zip = isZip ? try ZipReader(length: file.length) { try file.read($0, $1) } : nil
        } catch let problem as ZipReader.Problem {
            throw PageError(problem, limit: limit)
        }
    }

    /// The URL of the archive's page: the first page of a WACZ file, or the first HTML document. `nil` without one.
    func page() throws -> String? {
        if let zip, let file = zip.file("pages/pages.jsonl") {
            var text: [UInt8] = []
            try read(file, of: zip, limit: Self.pagesLimit) { text += $0 }
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
            _ = try readArchive(limit: limit, use) { pass in
                var offset: Int64 = 0
                while offset < file.length {
                    let piece = try file.read(offset, Self.pieceLength)
                    try piece.withUnsafeBytes(pass)
                    offset += Int64(piece.count)
                }
            }
            return
        }
        let archives = zip.files.filter { file in
            file.name.hasPrefix("archive/") && (file.name.hasSuffix(".warc") || file.name.hasSuffix(".warc.gz"))
        }
        guard !archives.isEmpty else { throw PageError.archive("the ZIP file has no file archive/NAME.warc.gz") }
        // A file may be compressed twice, by ZIP and by gzip. Both sums are limited.
        var (unzipped, decompressed) = (limit, limit)
        for archive in archives {
            decompressed -= try readArchive(limit: decompressed, use) { pass in
                try read(archive, of: zip, limit: unzipped, pass)
            }
            unzipped -= archive.size
        }
    }

    /// Returns the decompressed bytes of the WARC file.
    private func readArchive(
        limit: Int64, _ use: @escaping (WARCParser.Part) throws -> Void,
        _ source: (@escaping (UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws -> Int64 {
        let gzip = GzipReader(limit: limit)
        var parser = WARCParser()
        let (tooLarge, damaged) = (
            PageError.archiveTooLarge(limit: self.limit), PageError.archive("the compressed data are damaged")
        )
        try source { [isCancelled] bytes in
            // A piece that is compressed again may become a thousand times as long.
            if isCancelled() { throw PageError.cancelled }
            try gzip.read(bytes, { ($0 == .tooLarge ? tooLarge : damaged) as any Error }) { bytes throws(any Error) in
                if isCancelled() { throw PageError.cancelled }
                try parser.parse(bytes, { PageError.archive($0.reason) as any Error }) { part throws(any Error) in
                    try use(part)
                }
            }
        }
        guard gzip.isComplete else { throw PageError.archive("the file ends within a record") }
        do { try parser.finish() } catch { throw PageError.archive(error.reason) }
        return gzip.length
    }

    private func read(
        _ file: ZipReader.File, of zip: ZipReader, limit: Int64, _ use: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        do {
            try zip.read(file, limit: limit, use)
        } catch let problem as ZipReader.Problem {
            throw PageError(problem, limit: self.limit)
        }
    }
}

extension PageError {
    fileprivate init(_ problem: ZipReader.Problem, limit: Int64) {
        switch problem {
        case .malformed(let reason): self = .archive(reason)
        case .tooLarge: self = .archiveTooLarge(limit: limit)
        }
    }
}
