import CCompression
import Glibc

/// Decodes br (RFC 7932) with libbrotlidec. Confined to one thread at a time.
final class BrotliDecoder: ContentDecoder {
    private let state: OpaquePointer
    /// The number of allocated bytes. The library does not report it, so the allocation functions count it.
    private let held: UnsafeMutablePointer<Int>

    init() {
        held = .allocate(capacity: 1)
        held.initialize(to: 0)
        let allocate: brotli_alloc_func = { held, size in
            let memory = malloc(size)
            held?.assumingMemoryBound(to: Int.self).pointee += malloc_usable_size(memory)
            return memory
        }
        let release: brotli_free_func = { held, memory in
            held?.assumingMemoryBound(to: Int.self).pointee -= malloc_usable_size(memory)
            free(memory)
        }
        guard let state = BrotliDecoderCreateInstance(allocate, release, held) else {
            fatalError("brotli is out of memory")
        }
        self.state = state
    }

    deinit {
        BrotliDecoderDestroyInstance(state)
        held.deallocate()
    }

    var memorySize: Int { held.pointee }

    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !bytes.isEmpty else { return }
        var input = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
        var inputLeft = bytes.count
        try withUnsafeTemporaryAllocation(byteCount: contentPieceSize, alignment: 1) { piece in
            var result = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT
            while result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT {
                var next = piece.assumingMemoryBound(to: UInt8.self).baseAddress
                var left = piece.count
                result = BrotliDecoderDecompressStream(state, &inputLeft, &input, &left, &next, nil)
                guard result != BROTLI_DECODER_RESULT_ERROR else {
                    let words = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state))
                    throw ContentCodingError.corrupt(.brotli, words.map { String(cString: $0) } ?? "")
                }
                if left < piece.count { try output(UnsafeRawBufferPointer(rebasing: piece[..<(piece.count - left)])) }
            }
        }
        // "Needs more input" means that the decoder took all of its input.
        guard inputLeft == 0 else { throw ContentCodingError.trailing(.brotli) }
    }

    func finish() throws(ContentCodingError) {
        guard BrotliDecoderIsFinished(state) != 0 else { throw .truncated(.brotli) }
    }
}
