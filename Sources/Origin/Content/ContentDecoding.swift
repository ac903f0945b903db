import HTTPTypes
import Primitives
import Synchronization

/// Decodes all content codings of one body, the last applied coding first (RFC 9110 §8.4). Created at the first byte of
/// a body, because servers set `Content-Encoding` also on responses without a body. Only one thread uses an object.
package final class ContentDecoding {
    /// The received body, the decoded body or the bytes between two codings exceed the size limit.
    package struct TooLong: Error {}

    /// The most codings of a body, each with its own window. Two occur when a server codes a gzip file with gzip.
    static let limit = 2
    /// The maximum ratio of decoded to received bytes, for decoded bytes beyond ``ratioFloor``. gzip expands at most
    /// 1,032 times; a decompression bomb in another coding expands a million times.
    static let ratioLimit: Int64 = 1100
    static let ratioFloor: Int64 = 16 << 20

    private struct Step {
        let decoder: any ContentDecoder
        var byteCount: Int64 = 0
    }

    private var steps: [Step]
    private let sizeLimit: Int64
    private var codedCount: Int64 = 0
    private let memory: DecoderMemory
    private var heldMemory = 0

    /// `names` come from ``ContentCoding/names(in:)``. `sizeLimit` also limits the output of each coding.
    init(names: [String], sizeLimit: Int64, memory: DecoderMemory = .shared) throws(ContentCodingError) {
        guard names.count <= Self.limit else { throw .tooMany(limit: Self.limit) }
        self.sizeLimit = sizeLimit
        self.memory = memory
        steps = []
        for name in names.reversed() {
            guard let coding = ContentCoding(name: name) else { throw .unknown(name) }
            steps.append(Step(decoder: coding.makeDecoder()))
        }
    }

    /// A decoding for a body with these fields; `nil` if the body has no coding. Throws if a coding is unknown.
    package convenience init?(of fields: HTTPFields, sizeLimit: Int64) throws {
        let names = ContentCoding.names(in: fields)
        guard !names.isEmpty else { return nil }
        try self.init(names: names, sizeLimit: sizeLimit)
    }

    deinit {
        _ = memory.add(-heldMemory)
    }

    /// Passes all decoded bytes to `output`. Throws ``ContentCodingError``, ``TooLong`` and the errors of `output`.
    package func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        // Without this check, an endless series of empty gzip members, for example, could continue for ever.
        codedCount += Int64(bytes.count)
        guard codedCount <= sizeLimit else { throw TooLong() }
        try decode(bytes, from: 0, into: output)
        try countMemory()
    }

    /// Throws when one of the coded streams is incomplete.
    package func finish() throws(ContentCodingError) {
        for step in steps { try step.decoder.finish() }
    }

    private func countMemory() throws(ContentCodingError) {
        let more = steps.reduce(-heldMemory) { $0 + $1.decoder.memorySize }
        guard more != 0 else { return }
        heldMemory += more
        guard memory.add(more) || more < 0 else { throw .noMemory }
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer, from index: Int, into output: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard index < steps.count else { return try output(bytes) }
        try steps[index].decoder.decode(bytes) { piece in
            // Also limits the bytes between two codings, because a bomb may expand there and decode to no output.
            steps[index].byteCount += Int64(piece.count)
            guard steps[index].byteCount <= sizeLimit else { throw TooLong() }
            guard steps[index].byteCount <= max(Self.ratioFloor, codedCount * Self.ratioLimit) else {
                throw ContentCodingError.bomb(limit: Self.ratioLimit)
            }
            try decode(piece, from: index + 1, into: output)
        }
    }
}

/// Limits the memory of the decoders of all bodies together. Origins choose the size of the windows, up to 16 MiB (RFC
/// 7932 §9.1), and `brotli` uses such windows for large files. Memory is counted after its allocation, so the total may
/// exceed the limit by one window. The decoding that exceeds the limit fails, and releases all its memory.
final class DecoderMemory: Sendable {
    /// The limit of the process: 3 MiB for each of 512 bodies, which is more than usual responses need.
    static let shared = DecoderMemory(limit: 512 * 3 << 20)
    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes.
    init(limit: Int) {
        self.limit = limit
    }

    var byteCount: Int { held.load(ordering: .relaxed) }

    /// Adds a number, which may be negative, to the bytes in use; returns whether the total is within the limit.
    func add(_ byteCount: Int) -> Bool {
        held.add(byteCount, ordering: .relaxed).newValue <= limit
    }
}

/// Detects a file that is itself compressed, such as `a.tar.gz`. Some servers label such a file with `Content-Encoding:
/// gzip` or `x-gzip`. Decoding it would leave a file that does not match its name.
struct CompressedFile {
    private let formats: Set<Format>

    /// Looks at the last segment of each URL (`a.tar.gz` in `a.tar.gz/download`), the media type and the file name.
    init(urls: [String], fields: HTTPFields = [:]) {
        var formats = Set(urls.compactMap(Self.format(ofURL:)))
        if let type = fields[.contentType] { formats.formUnion(Self.formats(ofType: type)) }
        // The field's `String` may lose bytes outside ASCII, but the name's ending that shows a compression is ASCII.
        if let name = fields[.contentDisposition].flatMap({ ContentDisposition($0).fileName }),
            let format = Self.format(ofFile: name)
        {
            formats.insert(format)
        }
        self.formats = formats
    }

    var isCompressed: Bool { !formats.isEmpty }

    /// Whether a content coding, named in lower case, is the compression of the file itself, and must not be decoded.
    func isCoded(by name: String) -> Bool {
        let name = name.hasPrefix("x-") ? name.dropFirst(2) : name[...]
        return formats.contains { $0.rawValue == name || ($0 == .pack200 && name == "gzip") }
    }

    /// The raw values are the names of the content codings, without a leading `x-`.
    private enum Format: String {
        case gzip, zstd, bzip2, xz, compress, lzma, lz4
        case brotli = "br"
        case pack200 = "pack200-gzip"
    }

    private static func format(ofURL url: String) -> Format? {
        // Without this check, the authority of a URL without a path would be taken for a file, such as `example.br`.
        guard let authority = url.firstRange(of: "://")?.upperBound,
            let path = url[authority...].firstIndex(of: "/").map({ url[$0...].prefix { $0 != "?" && $0 != "#" } })
        else { return nil }
        // Parameters of a segment are not part of a file's name (RFC 3986 §3.3).
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).suffix(2).map {
            $0.prefix { $0 != ";" }
        }
        guard let last = segments.last else { return nil }
        if let format = format(ofFile: last) { return format }
        return last == "download" ? segments.first.flatMap(format(ofFile:)) : nil
    }

    private static func format(ofFile name: some StringProtocol) -> Format? {
        let name = name.lowercased()
        guard let dot = name.lastIndex(of: ".") else { return nil }
        if name.hasSuffix(".pack.gz") { return .pack200 }
        return switch name[name.index(after: dot)...] {
        case "gz", "gzip", "tgz", "taz", "bgz", "cpgz", "crate", "vgz", "emz", "wmz", "adz", "ipk": .gzip
        case "br", "tbr": .brotli
        case "zst", "zstd", "tzst", "tzstd": .zstd
        case "bz2", "bz", "tbz", "tbz2", "tb2": .bzip2
        case "xz", "txz": .xz
        case "z", "tz": .compress
        case "lzma", "tlz": .lzma
        case "lz4", "tlz4": .lz4
        default: nil
        }
    }

    private static func formats(ofType type: String) -> [Format] {
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        // A structured syntax suffix also names the compression (RFC 6839, RFC 8460 §6.2).
        if let suffix = essence.split(separator: "+").last, suffix.count < essence.count,
            let format = Format(rawValue: String(suffix)), format == .gzip || format == .zstd
        {
            return [format]
        }
        return switch essence {
        case "application/gzip", "application/x-gzip", "application/x-gunzip", "application/gzipped",
            "application/gzip-compressed", "application/x-gzip-compressed", "application/x-tgz",
            "application/x-tar-gz", "application/x-gtar-compressed", "gzip/document":
            [.gzip]
        // Servers use these types for gzip and for compress.
        case "application/x-compressed", "application/x-compressed-tar", "application/x-compress":
            [.gzip, .compress]
        case "application/x-brotli", "application/brotli": [.brotli]
        case "application/zstd", "application/x-zstd": [.zstd]
        case "application/x-bzip2", "application/x-bzip", "application/bzip2": [.bzip2]
        case "application/x-xz", "application/xz": [.xz]
        case "application/x-lzma": [.lzma]
        case "application/x-lz4": [.lz4]
        case "application/x-java-pack200": [.pack200]
        default: []
        }
    }
}
