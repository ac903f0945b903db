import Glibc

/// Divides the bytes from a browser into messages, which end with a zero byte. Leaves out messages that are longer than
/// the limit.
struct MessageReader {
    private let limit: Int
    private var message: [UInt8] = []
    private var isTooLong = false

    init(limit: Int) {
        self.limit = limit
    }

    /// `received` is called for each whole message.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ received: ([UInt8]) -> Void) {
        var rest = bytes[...]
        while !rest.isEmpty, let end = memchr(bytes.baseAddress! + rest.startIndex, 0, rest.count) {
            let index = bytes.baseAddress!.distance(to: end)
            append(rest[..<index])
            rest = rest[(index + 1)...]
            if !isTooLong { received(message) }
            isTooLong = false
            message.removeAll(keepingCapacity: message.count < 1 << 20)
        }
        append(rest)
    }

    private mutating func append(_ bytes: Slice<UnsafeRawBufferPointer>) {
        isTooLong = isTooLong || message.count + bytes.count > limit
        if isTooLong {
            message = []
        } else {
            message.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes))
        }
    }
}
