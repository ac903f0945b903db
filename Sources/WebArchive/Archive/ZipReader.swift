import CCompression

/// Reads the directory and the files of a ZIP file, also with ZIP64. Names are only compared, and never become paths.
/// Reads by a closure, so that the type needs no I/O of its own. Files that overlap are refused, because a small ZIP
/// file could name the same data many times.
package struct ZipReader {
    /// A file in the ZIP file, as the directory describes it.
    package struct File: Hashable, Sendable {
        package let name: String
        /// The bytes of the file's data when decompressed, as the directory says.
        package let size: Int64
        fileprivate let storedSize: Int64
        fileprivate let isDeflated: Bool
        fileprivate let checksum: UInt32
        fileprivate let header: Int64
        /// The beginning of the next file or of the directory.
        fileprivate var end: Int64 = 0
    }

    /// The reason for which the ZIP file, or one of its files, cannot be read.
    package enum Problem: Error, Equatable {
        /// The text says why.
        case malformed(String)
        /// The file or one of its parts exceeds a limit.
        case tooLarge
    }

    /// Returns `count` bytes at an offset of the ZIP file; fewer at its end.
    package typealias Source = (_ offset: Int64, _ count: Int) throws -> [UInt8]

    /// The most bytes of the directory.
    private static let directoryLimit: Int64 = 16 << 20
    package let files: [File]
    private let length: Int64
    private let source: Source

    /// Reads the directory. `length` is that of the ZIP file. Throws ``Problem`` and the errors of `source`.
    package init(length: Int64, _ source: @escaping Source) throws {
        self.length = length
        self.source = source
        let tailLength = min(length, 22 + 0xffff)
        let tail = Numbers(try source(length - tailLength, Int(tailLength)))
        guard tail.count >= 22,
            let end = (0...tail.count - 22).reversed().first(where: { tail.uint32($0) == 0x0605_4b50 })
        else { throw Problem.malformed("the file has no ZIP directory") }
        var size = Int64(tail.uint32(end + 12))
        var start = Int64(tail.uint32(end + 16))
        if end >= 20, tail.uint32(end - 20) == 0x0706_4b50 {
            let record = Numbers(try source(try Self.offset(tail.uint64(end - 12), length), 56))
            guard record.count == 56, record.uint32(0) == 0x0606_4b50 else {
                throw Problem.malformed("the ZIP64 directory is missing")
            }
            size = try Self.offset(record.uint64(40), length)
            start = try Self.offset(record.uint64(48), length)
        }
        guard size <= Self.directoryLimit else { throw Problem.tooLarge }
        guard start + size <= length else { throw Problem.malformed("the ZIP directory is outside the file") }
        files = try Self.apart(try Self.files(Numbers(try source(start, Int(size))), length), directory: start)
    }

    package func file(_ name: String) -> File? { files.first { $0.name == name } }

    /// Passes the decompressed data of a file to `use`, in pieces. Throws ``Problem/tooLarge`` beyond `limit` bytes,
    /// and ``Problem/malformed(_:)`` if the data differ from the directory.
    package func read(_ file: File, limit: Int64, _ use: (UnsafeRawBufferPointer) throws -> Void) throws {
        let header = Numbers(try source(file.header, Int(Self.headerLength)))
        guard header.count == Self.headerLength, header.uint32(0) == 0x0403_4b50 else {
            throw Problem.malformed("a file has no header")
        }
        var offset = file.header + Self.headerLength + Int64(header.uint16(26)) + Int64(header.uint16(28))
        let end = offset + file.storedSize
        guard end <= file.end else { throw Self.overlap }
        let inflater = file.isDeflated ? Inflater() : nil
        var (size, checksum) = (Int64(0), UInt(0))
        func pass(_ bytes: UnsafeRawBufferPointer) throws {
            size += Int64(bytes.count)
            guard size <= limit else { throw Problem.tooLarge }
            checksum = crc32_z(checksum, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
            try use(bytes)
        }
        while offset < end {
            let piece = try source(offset, Int(min(64 << 10, end - offset)))
            guard !piece.isEmpty else { throw Problem.malformed("the ZIP file is shorter than it was") }
            offset += Int64(piece.count)
            try piece.withUnsafeBytes { piece in
                if let inflater { try inflater.read(piece, pass) } else { try pass(piece) }
            }
        }
        guard size == file.size, UInt32(truncatingIfNeeded: checksum) == file.checksum else {
            throw Problem.malformed("the data of \(file.name) differ from its checksum")
        }
    }

    private static let overlap = Problem.malformed("the files of the ZIP file overlap")
    /// The bytes of a file's header without its name and its extra field.
    private static let headerLength: Int64 = 30

    /// Returns the files with their ends. Throws if the data of a file reach into the next file or the directory.
    private static func apart(_ files: [File], directory: Int64) throws -> [File] {
        var (files, end) = (files, directory)
        for index in files.indices.sorted(by: { files[$0].header > files[$1].header }) {
            let file = files[index]
            // The lengths of the name and of the extra field are known when the file is read.
            guard file.header + headerLength + file.storedSize <= end else { throw overlap }
            files[index].end = end
            end = file.header
        }
        return files
    }

    private static func offset(_ number: UInt64, _ length: Int64) throws -> Int64 {
        guard let offset = Int64(exactly: number), offset <= length else {
            throw Problem.malformed("the ZIP directory names a place outside the file")
        }
        return offset
    }

    private static func files(_ directory: Numbers, _ length: Int64) throws -> [File] {
        var files: [File] = []
        var index = 0
        while index + 46 <= directory.count, directory.uint32(index) == 0x0201_4b50 {
            let (nameLength, extraLength) = (Int(directory.uint16(index + 28)), Int(directory.uint16(index + 30)))
            let next = index + 46 + nameLength + extraLength + Int(directory.uint16(index + 32))
            guard next <= directory.count else { throw Problem.malformed("the ZIP directory is cut") }
            let method = directory.uint16(index + 10)
            guard directory.uint16(index + 8) & 1 == 0 else { throw Problem.malformed("a file is encrypted") }
            guard method == 0 || method == 8 else { throw Problem.malformed("a file has an unknown compression") }
            let sizes = try Self.sizes(directory, index, extra: index + 46 + nameLength, extraLength, length)
            files.append(
                File(
                    name: directory.text(index + 46, nameLength), size: sizes.whole, storedSize: sizes.stored,
                    isDeflated: method == 8, checksum: directory.uint32(index + 16), header: sizes.header))
            index = next
        }
        guard index == directory.count else { throw Problem.malformed("the ZIP directory is damaged") }
        return files
    }

    /// The sizes and the place of a file, from the ZIP64 field where the usual field has no room.
    private static func sizes(
        _ directory: Numbers, _ index: Int, extra: Int, _ extraLength: Int, _ length: Int64
    ) throws -> (whole: Int64, stored: Int64, header: Int64) {
        var values = [directory.uint32(index + 24), directory.uint32(index + 20), directory.uint32(index + 42)].map(
            UInt64.init)
        var field = extra
        while field + 4 <= extra + extraLength {
            let end = field + 4 + Int(directory.uint16(field + 2))
            guard end <= extra + extraLength else { break }
            if directory.uint16(field) == 1 {
                var place = field + 4
                for order in values.indices where values[order] == UInt64(UInt32.max) && place + 8 <= end {
                    values[order] = directory.uint64(place)
                    place += 8
                }
            }
            field = end
        }
        guard let whole = Int64(exactly: values[0]) else { throw Problem.tooLarge }
        return (whole, try offset(values[1], length), try offset(values[2], length))
    }
}

/// Decompresses raw deflate data (RFC 1951). A class, because zlib keeps pointers to its stream.
private final class Inflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var block = [UInt8](repeating: 0, count: 64 << 10)

    init() {
        stream.initialize(to: z_stream())
        precondition(larder_inflateInit2(stream, -15) == Z_OK, "inflateInit2 failed")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func read(_ bytes: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) throws -> Void) throws {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        defer { stream.pointee.next_in = nil }
        var code = Z_OK
        repeat {
            let written = block.withUnsafeMutableBufferPointer { block in
                stream.pointee.next_out = block.baseAddress
                stream.pointee.avail_out = UInt32(block.count)
                code = inflate(stream, Z_NO_FLUSH)
                return block.count - Int(stream.pointee.avail_out)
            }
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
                throw ZipReader.Problem.malformed("a file's compressed data are damaged")
            }
            try block.withUnsafeBytes { try use(UnsafeRawBufferPointer(rebasing: $0[..<written])) }
        } while code == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0)
    }
}

/// Bytes with numbers in little-endian order.
private struct Numbers {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var count: Int { bytes.count }
    func uint16(_ index: Int) -> UInt16 { UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8 }
    func uint32(_ index: Int) -> UInt32 { UInt32(uint16(index)) | UInt32(uint16(index + 2)) << 16 }
    func uint64(_ index: Int) -> UInt64 { UInt64(uint32(index)) | UInt64(uint32(index + 4)) << 32 }
    func text(_ start: Int, _ length: Int) -> String { String(decoding: bytes[start..<start + length], as: UTF8.self) }
}
