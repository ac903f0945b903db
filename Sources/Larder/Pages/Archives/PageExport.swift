import Crypto
import DiskCache
import HTTPTypes
import Primitives
import WebArchive

/// Writes a capture as a file for other programs. The file has no cookies and no fields of requests.
package struct PageExport: Sendable {
    /// The type of the file.
    package enum Format: String, CaseIterable, Sendable {
        /// WARC 1.1 (ISO 28500:2017), each record compressed with gzip.
        case warc
        /// WACZ 1.1.1: a ZIP file with the WARC file, its index and the page.
        case wacz

        package var contentType: String { self == .warc ? "application/warc" : "application/wacz" }
        package var fileExtension: String { self == .warc ? "warc.gz" : "wacz" }
    }

    /// A body is gone from the cache, because the page was removed during the export.
    package struct Removed: Error {}

    /// Takes the next bytes of the file, and may wait. Throws to end the export.
    package typealias Sink = (UnsafeRawBufferPointer) throws -> Void

    let capture: PageManifest.Capture
    let records: [CaptureRecord]
    let cache: DiskCache
    let now: Timestamp
    private static let software = "Larder"
    private static let warcName = "data.warc.gz"

    /// Waits for the disk. Throws ``Removed``, and the errors of the cache and of `sink`.
    package func write(_ format: Format, to sink: @escaping Sink) throws {
        switch format {
        case .warc: _ = try writeArchive(to: sink)
        case .wacz: try writePackage(to: sink)
        }
    }

    private func writeArchive(to sink: @escaping Sink) throws -> [ArchiveWriter.Place] {
        var writer = ArchiveWriter { WARCWriter.identifier((0..<16).map { _ in UInt8.random(in: 0...255) }) }
        func send(_ bytes: [UInt8]) throws {
            if !bytes.isEmpty { try bytes.withUnsafeBytes(sink) }
        }
        try send(writer.info(software: Self.software, date: now.rfc3339))
        for record in records {
            guard let answer = record.answer else { continue }
            let body = try answer.digest.map { digest throws -> StoredBody in
                guard case .hit(let stored) = try cache.resource(digest) else { throw Removed() }
                return stored.body
            }
            let response = ArchiveWriter.Response(
                url: record.url, date: record.date.rfc3339, status: answer.status,
                fields: answer.fields.map { ($0.name.rawName, $0.value) }, length: body?.length ?? 0,
                digest: answer.digest ?? Array(SHA256.hash(data: [UInt8]())))
            let isRevisit = writer.isRevisit(response)
            try send(writer.begin(response))
            if let body, !isRevisit {
                var place: Int64 = 0
                while place < body.length {
                    let end = min(place + 256 << 10, body.length)
                    try send(try body.read(place..<end).withUnsafeBytes { writer.body($0) })
                    place = end
                }
            }
            try send(writer.end())
        }
        return writer.places
    }

    private func writePackage(to sink: @escaping Sink) throws {
        var zip = ZipWriter(date: now.dosDate)
        var files: [JSON] = []
        func send(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes(sink) }
        func add(_ path: String, isListed: Bool = true, _ content: (@escaping Sink) throws -> Void) throws {
            try send(zip.begin(path))
            var (hasher, length) = (SHA256(), Int64(0))
            try content { bytes in
                zip.count(bytes)
                hasher.update(bufferPointer: bytes)
                length += Int64(bytes.count)
                try sink(bytes)
            }
            try send(zip.end())
            guard isListed else { return }
            files.append(
                .object([
                    .init("name", .string(String(path.split(separator: "/").last ?? ""))), .init("path", .string(path)),
                    .init("hash", .string("sha256:" + Array(hasher.finalize()).hex)), .init("bytes", .number(length)),
                ]))
        }
        func add(_ path: String, isListed: Bool = true, text: [UInt8]) throws {
            try add(path, isListed: isListed) { sink in try text.withUnsafeBytes(sink) }
        }
        var places: [ArchiveWriter.Place] = []
        try add("archive/\(Self.warcName)") { places = try writeArchive(to: $0) }
        try add("indexes/index.cdx", text: ArchiveIndex.text(places, file: Self.warcName))
        try add("pages/pages.jsonl", text: pages)
        let description = JSON.object([
            .init("profile", "data-package"), .init("wacz_version", "1.1.1"), .init("software", .string(Self.software)),
            .init("created", .string(now.rfc3339)), .init("title", .string(capture.title ?? capture.finalURL)),
            .init("mainPageURL", .string(capture.finalURL)), .init("mainPageDate", .string(capture.startDate.rfc3339)),
            .init("resources", .array(files)),
        ]).utf8
        try add("datapackage.json", isListed: false, text: description)
        let digest = JSON.object([
            .init("path", "datapackage.json"),
            .init("hash", .string("sha256:" + Array(SHA256.hash(data: description)).hex)),
        ])
        try add("datapackage-digest.json", isListed: false, text: digest.utf8)
        try send(zip.finish())
    }

    private var pages: [UInt8] {
        let head = JSON.object([
            .init("format", "json-pages-1.0"), .init("id", "pages"), .init("title", "All Pages"),
        ])
        // The date of the document's record, because readers look the page up by URL and date.
        let date = records.first { $0.url == capture.finalURL }?.date ?? capture.startDate
        var page: [JSON.Member] = [
            .init("id", .string("\(capture.number)")), .init("url", .string(capture.finalURL)),
            .init("ts", .string(date.rfc3339)),
        ]
        if let title = capture.title { page.append(.init("title", .string(title))) }
        return head.utf8 + [.lineFeed] + JSON.object(page).utf8 + [.lineFeed]
    }
}

extension Timestamp {
    fileprivate var dosDate: (time: UInt16, day: UInt16) {
        let numbers = rfc3339.split { !$0.isNumber }.compactMap { Int($0) }
        return ZipWriter.dosDate(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5])
    }
}
