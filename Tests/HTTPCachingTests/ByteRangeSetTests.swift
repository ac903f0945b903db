import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Byte ranges")
struct ByteRangeSetTests {
    typealias Resolution = ByteRangeSet.Resolution

    @Test(
        "A Range of a body of ten bytes resolves to parts or is unsatisfiable (RFC 9110 §14.1.2, §14.2)",
        arguments: [
            ("bytes=0-4", .parts([0..<5])),
            ("bytes=0-0", .parts([0..<1])),
            ("bytes=9-9", .parts([9..<10])),
            ("bytes=5-", .parts([5..<10])),
            ("bytes=0-", .parts([0..<10])),
            ("bytes=0-9", .parts([0..<10])),
            ("bytes=0-10", .parts([0..<10])),
            ("bytes=5-99999999999999999999999", .parts([5..<10])),
            // A suffix selects the *last* bytes, or all bytes if there are fewer.
            ("bytes=-3", .parts([7..<10])),
            ("bytes=-10", .parts([0..<10])),
            ("bytes=-11", .parts([0..<10])),
            ("bytes=-99999999999999999999999", .parts([0..<10])),
            // RFC 9110 §15.5.17: no range begins within the ten bytes, so the answer is 416.
            ("bytes=10-", .unsatisfiable),
            ("bytes=10-20", .unsatisfiable),
            ("bytes=99999999999999999999999-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            ("bytes=-0, 10-", .unsatisfiable),
            // Several ranges: the satisfiable ranges are kept in the requested order.
            ("bytes=0-1,4-5", .parts([0..<2, 4..<6])),
            ("bytes=4-5,0-1", .parts([4..<6, 0..<2])),
            ("bytes=0-1,20-30", .parts([0..<2])),
            ("bytes=0-0,-1", .parts([0..<1, 9..<10])),
            // RFC 9110 §15.3.7.2: ranges that overlap or touch may be joined.
            ("bytes=0-4,2-7", .parts([0..<8])),
            ("bytes=0-4,5-6", .parts([0..<7])),
            ("bytes=8-9,0-4,2-5", .parts([0..<6, 8..<10])),
            ("bytes=0-,0-,0-,0-", .parts([0..<10])),
            ("bytes=2-3,-10", .parts([0..<10])),
            // RFC 9110 §14.1: the unit ignores letter case. RFC 9110 §5.6.1.2: empty members are ignored.
            ("Bytes=0-4", .parts([0..<5])),
            ("BYTES=0-4", .parts([0..<5])),
            (" bytes=, 0-1 ,\t,4-5 ,", .parts([0..<2, 4..<6])),
            ("bytes=00-004", .parts([0..<5])),
        ] as [(String, Resolution)])
    func resolution(text: String, expected: Resolution) throws {
        #expect(try #require(ByteRangeSet(text)).resolve(length: 10) == expected)
    }

    @Test(
        "An invalid Range or a Range of an unknown unit is ignored (RFC 9110 §14.2)",
        arguments: [
            "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=0-4x", "bytes=x0-4", "bytes=4-0",
            "bytes=0-1,4-3",
            "bytes=0--1", "bytes=--1", "bytes=+0-4", "bytes=0-+4", "bytes=0x0-4", "bytes=1.5-2", "bytes = 0-4",
            "bytes =0-4",
            "bytes=0 -4", "bytes=0- 4", "bytes=0-4 6-7", "bytes=0-4;6-7", "bytes:0-4", "0-4", "=0-4", "items=0-4",
            "bytes=0-4, items=1-2", "bytes=0-4/10", "bytes=\"0-4\"", "none", "bytes=٠-٤",
        ])
    func ignored(text: String) {
        #expect(ByteRangeSet(text) == nil)
    }

    @Test("Only a suffix range of an empty representation is satisfiable, and yields the whole representation")
    func emptyRepresentation() throws {
        #expect(try #require(ByteRangeSet("bytes=0-")).resolve(length: 0) == .unsatisfiable)
        #expect(try #require(ByteRangeSet("bytes=-0")).resolve(length: 0) == .unsatisfiable)
        #expect(try #require(ByteRangeSet("bytes=-5")).resolve(length: 0) == .whole)
    }

    @Test("A request for too many ranges gets the whole representation (RFC 9110 §14.2)")
    func tooMany() throws {
        func set(_ count: Int) -> String { "bytes=" + (0..<count).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",") }
        let allowed = try #require(ByteRangeSet(set(ByteRangeSet.maximumCount)))
        let parts = (0..<Int64(ByteRangeSet.maximumCount)).map { number -> Range<Int64> in number * 2..<number * 2 + 1 }
        #expect(allowed.resolve(length: 100) == .parts(parts))
        let tooMany = try #require(ByteRangeSet(set(ByteRangeSet.maximumCount + 1)))
        #expect(tooMany.resolve(length: 100) == .whole)
    }

    @Test("Ranges with the largest numbers do not overflow")
    func extremes() throws {
        let text = "bytes=0-9223372036854775807, -9223372036854775807, 9223372036854775807-"
        #expect(try #require(ByteRangeSet(text)).resolve(length: .max) == .parts([0..<Int64.max]))
    }

    @Test("Parts of random ranges are never empty, never overlap and stay within the representation")
    func property() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let length = Int64.random(in: 0...20, using: &generator)
            let members = (0..<Int.random(in: 1...6, using: &generator)).map { _ -> String in
                let first = Int64.random(in: 0...25, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: return "-\(first)"
                case 1: return "\(first)-"
                default: return "\(first)-\(first + Int64.random(in: 0...25, using: &generator))"
                }
            }
            let text = "bytes=" + members.joined(separator: ",")
            guard let set = ByteRangeSet(text), case .parts(let parts) = set.resolve(length: length) else { continue }
            var bytes = Set<Int64>()
            for part in parts {
                #expect(!part.isEmpty, "\(text) of \(length)")
                #expect((0..<length).contains(part.lowerBound), "\(text) of \(length)")
                #expect(part.upperBound <= length, "\(text) of \(length)")
                for byte in part { #expect(bytes.insert(byte).inserted, "\(text) of \(length)") }
            }
            // The parts contain exactly the bytes that the members name.
            let asked = set.specifications.reduce(into: Set<Int64>()) { bytes, member in
                switch member {
                case .from(let first, let last):
                    for byte in first...max(first, last ?? 100) where byte < length { bytes.insert(byte) }
                case .suffix(let suffix): for byte in 0..<length where byte >= length - suffix { bytes.insert(byte) }
                }
            }
            #expect(bytes == asked, "\(text) of \(length)")
        }
    }

    @Test("Only a GET with a single Range line requests a range (RFC 9110 §14.2)")
    func ofRequest() {
        let fields: HTTPFields = [.range: "bytes=0-1"]
        #expect(ByteRangeSet(fields, method: .get) != nil)
        #expect(ByteRangeSet(fields, method: .head) == nil)
        #expect(ByteRangeSet(fields, method: .put) == nil)
        #expect(ByteRangeSet(HTTPFields(), method: .get) == nil)
        var two = fields
        two.append(HTTPField(name: .range, value: "bytes=4-5"))
        #expect(ByteRangeSet(two, method: .get) == nil)
    }
}
