import Primitives
import TestSupport
import Testing

@testable import WebArchive

@Suite("Reading and writing ZIP files")
struct ZipTests {
    private static func zip(_ files: [(String, [UInt8])]) -> [UInt8] {
        var zip = ZipWriter(date: ZipWriter.dosDate(year: 2026, month: 11, day: 27, hour: 16, minute: 1, second: 30))
        var output: [UInt8] = []
        for (name, data) in files {
            output += zip.begin(name)
            for piece in [data.prefix(3), data.dropFirst(3)] {
                Array(piece).withUnsafeBytes { zip.count($0) }
                output += piece
            }
            output += zip.end()
        }
        return output + zip.finish()
    }

    private static func reader(_ file: [UInt8]) throws -> ZipReader {
        try ZipReader(length: Int64(file.count)) { offset, count in
            Array(file[Int(offset)..<min(file.count, Int(offset) + count)])
        }
    }

    private static func data(_ name: String, in file: [UInt8], limit: Int64 = 1 << 20) throws -> [UInt8]? {
        let reader = try reader(file)
        guard let found = reader.file(name) else { return nil }
        var data: [UInt8] = []
        try reader.read(found, limit: limit) { data += $0 }
        return data
    }

    @Test("Written files are read again")
    func roundTrip() throws {
        let files: [(String, [UInt8])] = [
            ("a", Array("hello".utf8)), ("archive/日.warc", Array(repeating: 7, count: 100_000)), ("empty", []),
        ]
        let file = Self.zip(files)
        #expect(try Self.reader(file).files.map(\.name) == files.map(\.0))
        #expect(try Self.reader(file).files.map(\.size) == [5, 100_000, 0])
        for (name, data) in files { #expect(try Self.data(name, in: file) == data) }
        #expect(try Self.data("missing", in: file) == nil)
        #expect(try Self.reader(Self.zip([])).files == [])
    }

    @Test("A compressed file of another program is read")
    func deflated() throws {
        // Python: zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED).writestr(ZipInfo("a.txt"), "aaaaaaaaaaaaaaaaaaaab", 8)
        let hex = [
            "504b030414000000080000002100c56f440d060000001500000005000000612e7478744b4cc4044900504b0102",
            "140314000000080000002100c56f440d0600000015000000050000000000000000000000800100000000612e74",
            "7874504b0506000000000100010033000000290000000000",
        ].joined()
        let digits = Array(hex.utf8)
        let file = stride(from: 0, to: digits.count, by: 2).map {
            digits[$0].hexDigitValue! << 4 | digits[$0 + 1].hexDigitValue!
        }
        #expect(try Self.data("a.txt", in: file) == Array("aaaaaaaaaaaaaaaaaaaab".utf8))
    }

    @Test("A file beyond the limit is refused, and a damaged one, too")
    func limits() throws {
        var file = Self.zip([("a", Array("hello".utf8))])
        #expect(throws: ZipReader.Problem.tooLarge) { try Self.data("a", in: file, limit: 4) }
        file[30 + 1 + 20] ^= 1
        #expect(throws: ZipReader.Problem.malformed("the data of a differ from its checksum")) {
            try Self.data("a", in: file)
        }
        #expect(throws: ZipReader.Problem.malformed("the file has no ZIP directory")) { try Self.reader([]) }
        #expect(throws: ZipReader.Problem.malformed("the file has no ZIP directory")) {
            try Self.reader(Array(repeating: 0, count: 99))
        }
    }

    @Test("Files that share their data, or reach into the next file or the directory, are refused")
    func overlap() throws {
        let file = Self.zip([("a", Array("hello".utf8)), ("b", Array("hello".utf8))])
        let directory = try #require(file.indices.first { file[$0...].starts(with: [0x50, 0x4b, 1, 2]) })
        let second = try #require(file.indices.last { file[$0...].starts(with: [0x50, 0x4b, 1, 2]) })
        let problem = ZipReader.Problem.malformed("the files of the ZIP file overlap")
        // The place of a file is the last number of its ZIP64 field.
        var shared = file
        shared.replaceSubrange(second + 46 + 1 + 20..<second + 46 + 1 + 28, with: Array(repeating: 0, count: 8))
        #expect(throws: problem) { try Self.reader(shared) }
        // The extra field of the first file becomes longer than the rest of the file.
        var longer = file
        longer[28] = UInt8(directory)
        #expect(throws: problem) { try Self.data("a", in: longer) }
        #expect(try Self.data("b", in: longer) == Array("hello".utf8))
    }

    @Test("A file with random damage is read or refused", arguments: 1...300)
    func damage(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var file = Self.zip([("a", Array("hello".utf8)), ("b", Array(repeating: 1, count: 50))])
        for _ in 0..<1 + random.next() % 4 {
            let index = Int(random.next() % UInt64(file.count))
            if random.next() % 8 == 0 {
                file.removeSubrange(index...)
            } else {
                file[index] = UInt8(truncatingIfNeeded: random.next())
            }
            if file.isEmpty { break }
        }
        do {
            for found in try Self.reader(file).files {
                try Self.reader(file).read(found, limit: 100) { bytes in #expect(bytes.count <= 100) }
            }
        } catch let problem as ZipReader.Problem {
            #expect(problem == .tooLarge || "\(problem)".hasPrefix("malformed"))
        }
    }
}
