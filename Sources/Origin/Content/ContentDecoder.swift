/// Undoes one content coding: coded bytes in, decoded bytes out, in pieces as they become known.
///
/// Not libcurl's own decoding, because that takes a stream that ends too early, inside a body that is framed as whole,
/// for complete.
protocol ContentDecoder: AnyObject {
    /// Decodes the next bytes and hands on all that they give, at most ``contentPieceSize`` bytes at a time, valid
    /// during the call and never empty: what expands a thousandfold takes no more memory than anything else.
    ///
    /// Throws ``ContentCodingError``, and what `output` throws. After that it is not called again.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws

    /// How many bytes of memory it holds, about.
    var memorySize: Int { get }

    /// There are no more bytes. Throws ``ContentCodingError`` when the coded stream has not come to its end.
    func finish() throws(ContentCodingError)
}

/// How many decoded bytes are handed on at a time, at most.
let contentPieceSize = 65_536

/// Why a body cannot be decoded, in words about the body.
struct ContentCodingError: Error, Equatable {
    let reason: String

    /// There is a coding that nobody here knows.
    static func unknown(_ name: String) -> Self {
        Self(reason: "its content coding \"\(name.prefix(64))\" is not known")
    }

    /// There are more codings, one over the other, than anybody needs.
    static func tooMany(limit: Int) -> Self {
        Self(reason: "it has more than \(limit) content codings")
    }

    /// It becomes longer than anything that was not made for that.
    static func bomb(limit: Int64) -> Self {
        Self(reason: "it becomes more than \(limit) times as long")
    }

    /// The bodies that are being decoded take all the memory that they may.
    static let noMemory = Self(reason: "the memory for decoding is used up; try again when fewer bodies are under way")

    /// The decoder found something that cannot be; `words` are the library's.
    static func corrupt(_ coding: ContentCoding, _ words: String) -> Self {
        Self(reason: "it is not valid \(coding.rawValue): \(words)")
    }

    /// There are bytes after the end of what was coded.
    static func trailing(_ coding: ContentCoding) -> Self {
        Self(reason: "it goes on after the end of its \(coding.rawValue) stream")
    }

    /// The bytes end before the coded stream does.
    static func truncated(_ coding: ContentCoding) -> Self {
        Self(reason: "it ends before its \(coding.rawValue) stream does")
    }
}
