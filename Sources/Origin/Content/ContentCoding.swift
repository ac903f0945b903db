import HTTPTypes

/// A content coding that the client can decode (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
    case gzip
    /// The zlib format, as RFC 9110 defines it; the decoder also recognises bare deflate, which some servers send.
    case deflate
    case brotli = "br"
    case zstd

    /// The codings that a request asks for. It does not ask for deflate, because gzip compresses as well and has a
    /// better checksum.
    static let accepted = "gzip, br, zstd"

    /// The coding of that name, in lower case; `x-gzip` is gzip (RFC 9110 §8.4.1.3). `nil` when the client cannot
    /// decode it.
    init?(name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Known codings that the client cannot decode: the other codings registered by IANA, and some unregistered codings
    /// that servers use.
    private static let others: Set<String> = [
        "aes128gcm", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "bzip2", "x-bzip2", "lz4", "lzma",
        "x-lzma", "sdch", "snappy", "xz", "x-xz", "peerdist",
    ]

    /// The names of the codings in `Content-Encoding`, in lower case and in the order in which the codings were
    /// applied.
    ///
    /// Names that are not codings are left out, because they do not change the bytes: `identity`, and labels that
    /// servers add by mistake, such as `aws-chunked`, `UTF-8`, `none` and `binary`.
    static func names(in fields: HTTPFields) -> [String] {
        fields[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { ContentCoding(name: $0) != nil || others.contains($0) }
    }

    /// Returns a decoder for one body.
    func makeDecoder() -> any ContentDecoder {
        switch self {
        case .gzip, .deflate: InflateDecoder(self)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}
