import HTTPTypes
import Primitives

/// Detects a file that is itself compressed, such as `a.tar.gz`. Some servers label such a file with
/// `Content-Encoding: gzip`, or `x-gzip`; decoding it would leave a file that does not match its name.
struct CompressedFile {
    private let formats: Set<Format>

    /// Looks at the last segment of each URL (of `a.tar.gz/download` the one before), the media type and the file name.
    init(urls: [String], fields: HTTPFields = [:]) {
        var formats = Set(urls.compactMap(Self.format(ofURL:)))
        if let type = fields[.contentType] { formats.formUnion(Self.formats(ofType: type)) }
        // This conversion loses bytes outside ASCII, which do not indicate a compression.
        if let name = fields[.contentDisposition].flatMap({ ContentDisposition($0).fileName }),
            let format = Self.format(ofFile: name)
        {
            formats.insert(format)
        }
        self.formats = formats
    }

    var isCompressed: Bool { !formats.isEmpty }

    /// Whether a content coding, named in lower case, is the compression of the file itself.
    func isCoded(by name: String) -> Bool {
        let name = name.hasPrefix("x-") ? name.dropFirst(2) : name[...]
        return formats.contains { $0.rawValue == name || ($0 == .pack200 && name == "gzip") }
    }

    /// The raw values are the names of the content codings; `x-gzip`, for example, also means gzip.
    private enum Format: String {
        case gzip, zstd, bzip2, xz, compress, lzma, lz4
        case brotli = "br"
        case pack200 = "pack200-gzip"
    }

    private static func format(ofURL url: String) -> Format? {
        // In a URL without a path the authority would be taken for a file: `example.br` is not a file.
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
        // Servers use these types for several formats.
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
