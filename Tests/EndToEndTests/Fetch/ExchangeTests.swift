import Testing

@Suite("/fetch: the table of exchanges")
struct ExchangeTests {
    @Test("client, Larder and origin do what the standard says", arguments: ExchangeTable.parts)
    func exchanges(_ part: ExchangeTable.Part) async throws {
        try await ExchangeRun.perform(part.rows)
    }

    @Test("the table has 280 exchanges and more, no two of one name")
    func size() {
        let rows = ExchangeTable.parts.flatMap(\.rows)
        #expect(rows.count >= 280)
        #expect(Set(rows.map(\.name)).count == rows.count)
    }
}
