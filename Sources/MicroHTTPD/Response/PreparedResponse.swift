import CMicroHTTPD
import Primitives

/// A response made ready for one request. `@unchecked Sendable` is safe because libmicrohttpd's response objects may be
/// used from any thread, and only the owner of this value queues or discards it.
struct PreparedResponse: @unchecked Sendable {
    /// libmicrohttpd's response object; `nil` if there was no memory for it.
    fileprivate let handle: OpaquePointer?
    /// Whether the handle was made for this request alone.
    fileprivate let isOwned: Bool
    /// Keeps a shared handle alive until it is queued.
    fileprivate let response: Response

    /// Called once: after the handle was queued, or instead of queuing it.
    func discard() {
        if isOwned, let handle { MHD_destroy_response(handle) }
    }

    /// Called on the connection's thread. Also discards this value. Returns false if libmicrohttpd refuses the answer.
    func queue(on connection: Connection) -> Bool {
        defer { discard() }
        guard let handle else { return false }
        connection.isAnswering.store(true, ordering: .relaxed)
        return cmhd_queue(connection.handle, UInt32(response.status), handle)
    }
}

extension Response {
    /// A file up to this size is read whole if ``AnswerMemory`` has room, because libmicrohttpd then sends head and
    /// file in one call.
    private static let wholeFile: Int64 = 256 << 10

    /// Prepares a response that can be sent more than once. Its preparation is the same for all requests.
    func prepared(closing: Bool) -> PreparedResponse {
        if closing { return owned(Self.makeShareable(body), closing: true) }
        return PreparedResponse(handle: shared, isOwned: false, response: self)
    }

    /// Shares libmicrohttpd's object for the response, or makes a new object if none can be shared. `memory` limits the
    /// bytes of a file or stream that are on their way. With `draining` the connection closes after any answer.
    func prepared(
        for request: Request, on connection: Connection, memory: AnswerMemory, draining: Bool
    ) -> PreparedResponse {
        // libmicrohttpd accepts a bare LF in the framing of chunks, and another server may see the end of such a body
        // elsewhere. So the connection closes after a chunked request, and no bytes behind it are taken for a request.
        let isClosing = request.isChunked || draining
        let isWithheld = request.isHead || status == 304 || status == 204
        switch body {
        case .file(let file):
            return owned(isWithheld ? Self.makeWithheld(file.length) : Self.make(file, memory), closing: isClosing)
        case .stream(let stream, let length):
            if !isWithheld {
                // HTTP/1.0 has no chunks.
                let isChunked = length == nil && request.version != "HTTP/1.0"
                stream.attach(to: connection, isChunked: isChunked, memory: memory)
                return owned(Self.make(stream, length, memory), closing: isClosing)
            }
            stream.close()
            if status == 204 { return owned(Self.makeWithheld(0), closing: isClosing) }
            if let length { return owned(Self.makeWithheld(length), closing: isClosing) }
            // Without a length, libmicrohttpd would announce chunks, unless the answer closes the connection.
            let handle = Self.makeWithheld(Int64(bitPattern: cmhd_size_unknown()))
            if let handle { cmhd_end_by_closing(handle) }
            return owned(handle, closing: isClosing)
        case .empty, .bytes, .slice, .withheld:
            return prepared(closing: isClosing)
        }
    }

    private func owned(_ handle: OpaquePointer?, closing: Bool) -> PreparedResponse {
        if let handle { Self.add(head, to: handle, closing: closing) }
        return PreparedResponse(handle: handle, isOwned: true, response: self)
    }

    /// libmicrohttpd's object for a body; `nil` for a body that can be sent only once.
    static func makeShareable(_ body: Body) -> OpaquePointer? {
        switch body {
        case .empty: cmhd_empty_response()
        case .bytes(let bytes): make(bytes, 0..<bytes.count)
        case .slice(let bytes, let range): make(bytes, range)
        case .withheld(let length): makeWithheld(length)
        case .file, .stream: nil
        }
    }

    /// The object retains the bytes, because libmicrohttpd may still be sending when the `Response` is released.
    private static func make(_ bytes: SharedBytes, _ range: Range<Int>) -> OpaquePointer? {
        make(UnsafeRawBufferPointer(rebasing: bytes.bytes[range]), retaining: bytes)
    }

    private static func make(_ bytes: UnsafeRawBufferPointer, retaining owner: AnyObject) -> OpaquePointer? {
        let owner = Unmanaged.passRetained(owner)
        let handle = MHD_create_response_from_buffer_with_free_callback_cls(
            bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
            { Unmanaged<AnyObject>.fromOpaque($0!).release() }, owner.toOpaque())
        if handle == nil { owner.release() }
        return handle
    }

    /// Makes an answer without a body to read. If libmicrohttpd asks for a byte of the body, the connection breaks off.
    private static func makeWithheld(_ length: Int64) -> OpaquePointer? {
        MHD_create_response_from_callback(
            UInt64(bitPattern: length), 1, { _, _, _, _ in cmhd_end_with_error() }, nil, nil)
    }

    private static func make(_ file: FileBody, _ memory: AnswerMemory) -> OpaquePointer? {
        if file.length == 0 { return cmhd_empty_response() }
        let isSmall = file.length <= Int64(AnswerMemory.small)
        let share = !isSmall && file.length <= wholeFile ? memory.take(Int(file.length)) : nil
        guard isSmall || share != nil else {
            let (block, share) = memory.block()
            return make(BlockReader(file, share), UInt64(file.length), block)
        }
        // The connection breaks off after the head, so that the client sees an incomplete body.
        guard let whole = WholeFile(file, share) else { return makeWithheld(file.length) }
        return make(UnsafeRawBufferPointer(whole.bytes), retaining: whole)
    }

    private static func make(
        _ stream: ResponseStream, _ length: Int64?, _ memory: AnswerMemory
    ) -> OpaquePointer? {
        // A chunked body needs no block of its own, because libmicrohttpd uses the connection's memory.
        let (block, share) = length == nil ? (1, nil) : memory.block(isQueued: true)
        return make(
            BlockReader(stream, share), length.map { UInt64($0) } ?? cmhd_size_unknown(),
            min(block, max(1, Int(clamping: length ?? .max))))
    }

    private static func make(_ reader: BlockReader, _ length: UInt64, _ block: Int) -> OpaquePointer? {
        let owner = Unmanaged.passRetained(reader)
        let handle = MHD_create_response_from_callback(
            length, block,
            { context, position, buffer, count in
                Unmanaged<BlockReader>.fromOpaque(context!)._withUnsafeGuaranteedRef { reader in
                    reader.source.read(
                        into: UnsafeMutableRawBufferPointer(start: buffer, count: count), at: Int64(position))
                }
            },
            owner.toOpaque(), { Unmanaged<BlockReader>.fromOpaque($0!).release() })
        if handle == nil { owner.release() }
        return handle
    }
}

/// A body that libmicrohttpd reads piece by piece.
private protocol BlockSource: Sendable {
    /// Returns the number of bytes, or a code of libmicrohttpd.
    func read(into target: UnsafeMutableRawBufferPointer, at position: Int64) -> Int
    /// Called when the bytes will not be read any more.
    func close()
}

extension FileBody: BlockSource {
    fileprivate func read(into target: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        let count = readBytes(into: target, at: position)
        return count > 0 ? count : cmhd_end_with_error()
    }

    fileprivate func close() {}
}

extension ResponseStream: BlockSource {
    fileprivate func read(into target: UnsafeMutableRawBufferPointer, at position: Int64) -> Int { read(into: target) }
}

private final class BlockReader: Sendable {
    let source: any BlockSource
    private let share: AnswerMemory.Share?

    init(_ source: any BlockSource, _ share: AnswerMemory.Share?) {
        self.source = source
        self.share = share
    }

    deinit {
        source.close()
    }
}

private final class WholeFile {
    let bytes: UnsafeMutableRawBufferPointer
    private let share: AnswerMemory.Share?

    /// `nil` if the file is shorter than its ``FileBody/length``, or cannot be read.
    init?(_ file: FileBody, _ share: AnswerMemory.Share?) {
        self.share = share
        bytes = .allocate(byteCount: Int(file.length), alignment: 16)
        var count = 0
        while count < bytes.count {
            let read = file.readBytes(into: UnsafeMutableRawBufferPointer(rebasing: bytes[count...]), at: Int64(count))
            // The deinitializer frees the allocated bytes.
            if read <= 0 { return nil }
            count += read
        }
    }

    deinit {
        bytes.deallocate()
    }
}
