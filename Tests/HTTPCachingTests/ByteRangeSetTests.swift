import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Byte ranges")
struct ByteRangeSetTests {
    typealias Resolution = ByteRangeSet.Resolution

    @Test(
        "what is asked of ten bytes (RFC 9110 §14.1.2, §14.2)",
        arguments: [
            ("bytes=0-4", .parts([0..<5])),
            ("bytes=0-0", .parts([0..<1])),
            ("bytes=9-9", .parts([9..<10])),
            ("bytes=5-", .parts([5..<10])),
            ("bytes=0-", .parts([0..<10])),
            ("bytes=0-9", .parts([0..<10])),
            ("bytes=0-10", .parts([0..<10])),
            ("bytes=5-99999999999999999999999", .parts([5..<10])),
            // The *last* bytes, not the first; all when there are fewer.
            ("bytes=-3", .parts([7..<10])),
            ("bytes=-10", .parts([0..<10])),
            ("bytes=-11", .parts([0..<10])),
            ("bytes=-99999999999999999999999", .parts([0..<10])),
            // Nothing that begins within: 416 (§15.5.17).
            ("bytes=10-", .unsatisfiable),
            ("bytes=10-20", .unsatisfiable),
            ("bytes=99999999999999999999999-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            ("bytes=-0, 10-", .unsatisfiable),
            // Several: the satisfiable ones, in the order asked for.
            ("bytes=0-1,4-5", .parts([0..<2, 4..<6])),
            ("bytes=4-5,0-1", .parts([4..<6, 0..<2])),
            ("bytes=0-1,20-30", .parts([0..<2])),
            ("bytes=0-0,-1", .parts([0..<1, 9..<10])),
            // §15.3.7.2: what overlaps or touches may be joined.
            ("bytes=0-4,2-7", .parts([0..<8])),
            ("bytes=0-4,5-6", .parts([0..<7])),
            ("bytes=8-9,0-4,2-5", .parts([0..<6, 8..<10])),
            ("bytes=0-,0-,0-,0-", .parts([0..<10])),
            ("bytes=2-3,-10", .parts([0..<10])),
            // §14.1: the unit's case does not matter; RFC 9110 §5.6.1.2: empty members are ignored.
            ("Bytes=0-4", .parts([0..<5])),
            ("BYTES=0-4", .parts([0..<5])),
            (" bytes=, 0-1 ,\t,4-5 ,", .parts([0..<2, 4..<6])),
            ("bytes=00-004", .parts([0..<5])),
        ] as [(String, Resolution)])
    func resolution(text: String, expected: Resolution) throws {
        #expect(try #require(ByteRangeSet(text)).resolve(length: 10) == expected)
    }

    @Test(
        "what is ignored, as if no range had been asked for (RFC 9110 §14.2)",
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

    @Test("of nothing, nothing is satisfiable, but the last bytes are the whole")
    func emptyRepresentation() throws {
        #expect(try #require(ByteRangeSet("bytes=0-")).resolve(length: 0) == .unsatisfiable)
        #expect(try #require(ByteRangeSet("bytes=-0")).resolve(length: 0) == .unsatisfiable)
        #expect(try #require(ByteRangeSet("bytes=-5")).resolve(length: 0) == .whole)
    }

    @Test("who asks for very many ranges gets the whole (RFC 9110 §14.2)")
    func tooMany() throws {
        func set(_ count: Int) -> String { "bytes=" + (0..<count).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",") }
        let allowed = try #require(ByteRangeSet(set(ByteRangeSet.maximumCount)))
        let parts = (0..<Int64(ByteRangeSet.maximumCount)).map { number -> Range<Int64> in number * 2..<number * 2 + 1 }
        #expect(allowed.resolve(length: 100) == .parts(parts))
        let tooMany = try #require(ByteRangeSet(set(ByteRangeSet.maximumCount + 1)))
        #expect(tooMany.resolve(length: 100) == .whole)
    }

    @Test("the largest numbers do not overflow")
    func extremes() throws {
        let text = "bytes=0-9223372036854775807, -9223372036854775807, 9223372036854775807-"
        #expect(try #require(ByteRangeSet(text)).resolve(length: .max) == .parts([0..<Int64.max]))
    }

    @Test("parts are never empty, never overlap and stay within, whatever is asked")
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
            // Each byte that a member names is in a part, and no other.
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

    @Test("a range is asked for by GET, in one line (RFC 9110 §14.2)")
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
