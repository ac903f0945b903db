import Testing

@testable import Larder

@Suite("The ids of events")
struct EventIDSealTests {
    @Test("The process that wrote an id reads it, and no other process does", arguments: [0, 1, 42, UInt64.max])
    func reading(number: UInt64) {
        let (seal, other) = (EventIDSeal(), EventIDSeal())
        let id = seal.id(of: number)
        #expect(id == seal.id(of: number) && id != other.id(of: number))
        #expect(seal.number(of: id.text) == number)
        #expect(other.number(of: id.text) == nil)
    }

    @Test("A changed id is invalid")
    func changed() {
        let seal = EventIDSeal()
        let text = Array(seal.id(of: 7).text.utf8)
        for index in text.indices {
            var other = text
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(seal.number(of: String(decoding: other, as: UTF8.self)) == nil)
        }
        #expect(seal.number(of: String(decoding: text.dropLast(), as: UTF8.self)) == nil)
    }

    @Test("Ids hide the distance and the identity of events, and fit into a line")
    func opaque() {
        let seal = EventIDSeal()
        let texts = (0..<1000).map { seal.id(of: UInt64($0 / 2)).text }
        #expect(Set(texts).count == texts.count)
        #expect(Set(texts.map(\.utf8.count)) == [48])
        #expect(texts.allSatisfy { $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) } })
        // At each position, neighbouring ids have the same character no more often than by chance.
        for place in 0..<48 {
            let same = zip(texts, texts.dropFirst()).count { Array($0.utf8)[place] == Array($1.utf8)[place] }
            #expect(same < 100, "\(place)")
        }
    }
}
