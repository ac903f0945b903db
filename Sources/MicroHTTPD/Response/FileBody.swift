import Foundation

/// A part of an open file. Several answers may send it at once. The file is closed with the last part of it.
package final class FileBody: Sendable {
    /// From the start of the file, in bytes.
    package let offset: Int64
    /// In bytes. If the file turns out to be shorter, the answer breaks off.
    package let length: Int64
    private let descriptor: Int32
    private let owner: any AnyObject & Sendable

    /// Takes over the descriptor, which is read by `pread` only, so its position does not matter.
    package convenience init(descriptor: Int32, offset: Int64 = 0, length: Int64) {
        self.init(descriptor: descriptor, of: OpenFile(descriptor: descriptor), offset: offset, length: length)
    }

    /// `owner` keeps the descriptor open for as long as it lives.
    package init(descriptor: Int32, of owner: any AnyObject & Sendable, offset: Int64 = 0, length: Int64) {
        precondition(offset >= 0 && length >= 0, "a part of a file cannot start or end before it does")
        self.descriptor = descriptor
        self.owner = owner
        self.offset = offset
        self.length = length
    }

    /// `range` counts from this part's start and must lie within it.
    package func slice(_ range: Range<Int64>) -> FileBody {
        precondition(range.lowerBound >= 0 && range.upperBound <= length, "the range is outside of the file's part")
        return FileBody(
            descriptor: descriptor, of: owner, offset: offset + range.lowerBound, length: Int64(range.count))
    }

    /// `position` counts from this part's start. Returns the number of bytes, 0 at the file's end, or -1 on an error.
    func read(into target: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        while true {
            let count = pread(descriptor, target.baseAddress, target.count, off_t(offset + position))
            if count >= 0 || errno != EINTR { return count }
        }
    }
}

private final class OpenFile: Sendable {
    let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
