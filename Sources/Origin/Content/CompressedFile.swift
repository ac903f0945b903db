import HTTPTypes
import Primitives

/// Files that are compressed themselves, such as `a.tar.gz`.
///
/// Some servers label such a file with `Content-Encoding: gzip`, or `x-gzip`, instead of with its media type alone. The
/// coding is then a property of the file and not of its transfer: to undo it would leave a file that does not match
/// its name.
enum CompressedFile {
    /// The coding that a file has of its own; `nil` for a file that has none, as far as its name and type tell.
    ///
    /// - Parameters:
    ///   - url: where it comes from; the end of its path counts.
    ///   - fields: of the answer: the media type and the file name count.
    static func coding(url: String, fields: HTTPFields) -> ContentCoding? {
        coding(ofURL: url)
            ?? fields[.contentType].flatMap(coding(ofType:))
            ?? fields[.contentDisposition].flatMap { ContentDisposition($0).fileName }.flatMap(coding(ofFile:))
    }

    /// The coding that the name in a URL's path tells: an origin is then asked without codings.
    static func coding(ofURL url: String) -> ContentCoding? {
        coding(ofFile: url.prefix { $0 != "?" && $0 != "#" })
    }

    private static func coding(ofFile name: some StringProtocol) -> ContentCoding? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return switch name[name.index(after: dot)...].lowercased() {
        case "gz", "gzip", "tgz", "taz", "bgz", "cpgz", "crate": .gzip
        case "br": .brotli
        case "zst", "zstd", "tzst": .zstd
        default: nil
        }
    }

    private static func coding(ofType type: String) -> ContentCoding? {
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        return switch essence {
        case "application/gzip", "application/x-gzip", "application/x-gunzip", "application/gzipped",
            "application/gzip-compressed", "application/x-compressed", "application/x-tgz", "application/x-tar-gz",
            "application/x-compressed-tar", "application/x-gtar-compressed", "gzip/document":
            .gzip
        case "application/x-brotli", "application/brotli": .brotli
        case "application/zstd", "application/x-zstd": .zstd
        default: nil
        }
    }
}
