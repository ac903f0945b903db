import Testing

@testable import Larder

@Suite("The bytes of a generation's bodies")
struct StagedBytesTests {
    private let whole = StagedBytes()

    private func part(_ count: Int, length: Int64? = nil, isKept: Bool = false) -> StagedBytes.Part {
        let part = StagedBytes.Part(of: whole, length: length)
        part.add(count)
        if isKept { part.keep() }
        return part
    }

    @Test("A body lacks room alone if the cache could not hold it without the other bodies either")
    func tooLong() {
        let others = [part(500, isKept: true), part(50)]
        // The bytes under way take room for the cache.
        #expect(part(10, length: 300).lacksRoomAlone { $0 + 50 <= 299 })
        #expect(!part(10, length: 300).lacksRoomAlone { $0 + 50 <= 300 })
        withExtendedLifetime(others) {}
    }

    @Test("A body that is longer than each other one, in the stage or under way, lacks room alone")
    func longest() {
        let others = [part(100, isKept: true), part(5, length: 200)]
        #expect(part(10, length: 201).lacksRoomAlone { $0 <= 300 })
        #expect(!part(10, length: 200).lacksRoomAlone { $0 <= 300 })
        #expect(part(201).lacksRoomAlone { $0 <= 250 })
        #expect(!part(200).lacksRoomAlone { $0 <= 250 })
        withExtendedLifetime(others) {}
    }

    @Test("A body of unknown length that has used up its share lacks room alone, also beside longer bodies")
    func share() {
        let other = part(1000, isKept: true)
        #expect(part(10).lacksRoomAlone { $0 <= 1010 })
        #expect(!part(10).lacksRoomAlone { $0 <= 1009 })
        withExtendedLifetime(other) {}
    }

    @Test("The bytes of a failed body count no more, and those of a kept one for the life of the stage")
    func failed() {
        _ = part(1000)
        #expect(part(10, length: 20).lacksRoomAlone { $0 <= 20 })
        _ = part(1000, isKept: true)
        #expect(!part(10, length: 20).lacksRoomAlone { $0 <= 20 })
        #expect(StagedBytes.Part(of: StagedBytes(), length: 20).lacksRoomAlone { $0 <= 20 })
    }
}
