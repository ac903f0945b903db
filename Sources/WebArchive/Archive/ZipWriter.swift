import CCompression

/// Writes a ZIP file (PKWARE APPNOTE 6.3.10) piece by piece, without compression, because readers of WACZ read parts of
/// the file. Sizes follow the data, so that the file can be sent while it is made. Files of 4 GiB and more have ZIP64.
///
///     var zip = ZipWriter(date: date)
///     output += zip.begin("archive/data.warc.gz")
///     zip.count(bytes); output += bytes
///     output += zip.end() + zip.finish()
package struct ZipWriter {
    private struct Entry {
        var name: [UInt8]
        var offset: UInt64
        var size: UInt64 = 0
        var checksum: UInt32 = 0
    }

    /// Bit 3: sizes follow the data. Bit 11: names are UTF-8.
    private static let flags: UInt16 = 1 << 3 | 1 << 11
    private static let version: UInt16 = 45
    private static let unknown: UInt32 = .max
    private let date: (time: UInt16, day: UInt16)
    private var entries: [Entry] = []
    /// The bytes of the file so far.
    private var position: UInt64 = 0

    /// `date`: of all files, in the form of MS-DOS; see ``dosDate(year:month:day:hour:minute:second:)``.
    package init(date: (time: UInt16, day: UInt16)) {
        self.date = date
    }

    /// Seconds are even, and years are from 1980 to 2107.
    package static func dosDate(
        year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> (time: UInt16, day: UInt16) {
        let year = min(max(year - 1980, 0), 127)
        return (UInt16(hour << 11 | minute << 5 | second / 2), UInt16(year << 9 | month << 5 | day))
    }

    /// Returns the bytes in front of a file's data. Call ``count(_:)`` with the data, and then ``end()``.
    package mutating func begin(_ name: String) -> [UInt8] {
        let entry = Entry(name: Array(name.utf8), offset: position)
        entries.append(entry)
        var bytes = Bytes()
        bytes.append(UInt32(0x0403_4b50))
        bytes.append(Self.version)
        bytes.append(Self.flags)
        bytes.append(UInt16(0))
        bytes.append(date.time)
        bytes.append(date.day)
        bytes.append(UInt32(0))
        bytes.append(Self.unknown)
        bytes.append(Self.unknown)
        bytes.append(UInt16(entry.name.count))
        bytes.append(UInt16(20))
        bytes.list += entry.name
        // The extra field says that the sizes behind the data have 8 bytes.
        bytes.append(UInt16(1))
        bytes.append(UInt16(16))
        bytes.append(UInt64(0))
        bytes.append(UInt64(0))
        return written(bytes)
    }

    /// Notes data of the file that ``begin(_:)`` has begun.
    package mutating func count(_ bytes: UnsafeRawBufferPointer) {
        let index = entries.count - 1
        entries[index].size += UInt64(bytes.count)
        entries[index].checksum = UInt32(
            crc32_z(UInt(entries[index].checksum), bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count))
        position += UInt64(bytes.count)
    }

    /// Returns the bytes behind a file's data.
    package mutating func end() -> [UInt8] {
        let entry = entries[entries.count - 1]
        var bytes = Bytes()
        bytes.append(UInt32(0x0807_4b50))
        bytes.append(entry.checksum)
        bytes.append(entry.size)
        bytes.append(entry.size)
        return written(bytes)
    }

    /// Returns the directory, which ends the ZIP file.
    package mutating func finish() -> [UInt8] {
        let start = position
        var bytes = Bytes()
        for entry in entries { append(entry, to: &bytes) }
        let size = UInt64(bytes.list.count)
        let count = UInt64(entries.count)
        let end = start + size
        bytes.append(UInt32(0x0606_4b50))
        bytes.append(UInt64(44))
        bytes.append(Self.version)
        bytes.append(Self.version)
        bytes.append(UInt32(0))
        bytes.append(UInt32(0))
        bytes.append(count)
        bytes.append(count)
        bytes.append(size)
        bytes.append(start)
        bytes.append(UInt32(0x0706_4b50))
        bytes.append(UInt32(0))
        bytes.append(end)
        bytes.append(UInt32(1))
        bytes.append(UInt32(0x0605_4b50))
        bytes.append(UInt16(0))
        bytes.append(UInt16(0))
        bytes.append(UInt16(min(count, 0xffff)))
        bytes.append(UInt16(min(count, 0xffff)))
        bytes.append(UInt32(min(size, UInt64(UInt32.max))))
        bytes.append(UInt32(min(start, UInt64(UInt32.max))))
        bytes.append(UInt16(0))
        return written(bytes)
    }

    private func append(_ entry: Entry, to bytes: inout Bytes) {
        bytes.append(UInt32(0x0201_4b50))
        bytes.append(Self.version)
        bytes.append(Self.version)
        bytes.append(Self.flags)
        bytes.append(UInt16(0))
        bytes.append(date.time)
        bytes.append(date.day)
        bytes.append(entry.checksum)
        bytes.append(Self.unknown)
        bytes.append(Self.unknown)
        bytes.append(UInt16(entry.name.count))
        bytes.append(UInt16(28))
        bytes.append(UInt16(0))
        bytes.append(UInt16(0))
        bytes.append(UInt16(0))
        bytes.append(UInt32(0))
        bytes.append(Self.unknown)
        bytes.list += entry.name
        bytes.append(UInt16(1))
        bytes.append(UInt16(24))
        bytes.append(entry.size)
        bytes.append(entry.size)
        bytes.append(entry.offset)
    }

    private mutating func written(_ bytes: Bytes) -> [UInt8] {
        position += UInt64(bytes.list.count)
        return bytes.list
    }
}

/// Numbers in little-endian order.
private struct Bytes {
    var list: [UInt8] = []

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { list += $0 }
    }
}
