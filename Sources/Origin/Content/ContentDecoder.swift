/// Decodes one content coding: takes coded bytes and returns decoded bytes in pieces, as soon as they are known.
///
/// libcurl's own decoding is not used, because libcurl takes a stream that ends too early, in a correctly framed body,
/// for complete.
protocol ContentDecoder: AnyObject {
    /// Decodes the next bytes and passes all decoded bytes to `output`, in pieces of at most ``contentPieceSize``
    /// bytes, never empty and valid only during the call. A stream that expands a thousandfold therefore takes no more
    /// memory than any other.
    ///
    /// Throws ``ContentCodingError``, and rethrows the error of `output`. Do not call it again after an error.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws

    /// The approximate memory of the decoder, in bytes.
    var memorySize: Int { get }

    /// Ends the stream. Throws ``ContentCodingError`` when the coded stream is incomplete.
    func finish() throws(ContentCodingError)
}

/// The maximum size of a piece of decoded bytes.
let contentPieceSize = 65_536

/// The reason why a body cannot be decoded, as words about the body.
struct ContentCodingError: Error, Equatable {
    let reason: String

    /// The body has an unknown coding.
    static func unknown(_ name: String) -> Self {
        Self(reason: "its content coding \"\(name.prefix(64))\" is not supported")
    }

    /// The body has more codings than the limit.
    static func tooMany(limit: Int) -> Self {
        Self(reason: "it has more than \(limit) content codings")
    }

    /// The body expands more than any legitimate body.
    static func bomb(limit: Int64) -> Self {
        Self(reason: "it becomes more than \(limit) times as long when decoded")
    }

    /// The decoders of all bodies have used all the memory that they may use.
    static let noMemory = Self(reason: "the memory for decoding is used up; retry when fewer bodies are in transfer")

    /// The decoder found invalid bytes; `words` is the library's description.
    static func corrupt(_ coding: ContentCoding, _ words: String) -> Self {
        Self(reason: "it is not valid \(coding.rawValue): \(words)")
    }

    /// The body has bytes after the end of the coded stream.
    static func trailing(_ coding: ContentCoding) -> Self {
        Self(reason: "it goes on after the end of its \(coding.rawValue) stream")
    }

    /// The body ends before the coded stream.
    static func truncated(_ coding: ContentCoding) -> Self {
        Self(reason: "it ends before its \(coding.rawValue) stream does")
    }
}
