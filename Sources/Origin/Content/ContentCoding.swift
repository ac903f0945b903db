import HTTPTypes

/// A content coding that can be undone (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
    case gzip
    /// The zlib format, as RFC 9110 says; bare deflate, which some servers send instead, is recognised.
    case deflate
    case brotli = "br"
    case zstd

    /// What a request asks for. Deflate, which gzip does as well and with a better checksum, is not asked for.
    static let accepted = "gzip, br, zstd"

    /// A coding by its name, in lower case; `x-gzip` is gzip (RFC 9110 §8.4.1.3).
    init?(name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Codings that are known to exist, and cannot be undone here: IANA's others, and some that servers use without
    /// having registered them.
    private static let others: Set<String> = [
        "aes128gcm", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "bzip2", "x-bzip2", "lz4", "lzma",
        "x-lzma", "sdch", "snappy", "xz", "x-xz", "peerdist",
    ]

    /// The names of codings in `Content-Encoding`, in the order in which the codings were applied, in lower case.
    ///
    /// Names that are no coding are left out: `identity`, and the labels that servers put there by mistake, such as
    /// `aws-chunked`, `UTF-8`, `none` and `binary`. The bytes are then as they are.
    static func names(in fields: HTTPFields) -> [String] {
        fields[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { ContentCoding(name: $0) != nil || others.contains($0) }
    }

    /// A decoder for one body.
    func makeDecoder() -> any ContentDecoder {
        switch self {
        case .gzip, .deflate: InflateDecoder(self)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}
