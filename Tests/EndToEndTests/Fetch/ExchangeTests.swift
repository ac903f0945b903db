import Testing

@Suite("The table of exchanges through /fetch")
struct ExchangeTests {
    @Test(
        "The exchanges of each part of the table have the outcomes that the RFCs demand", arguments: ExchangeTable.parts
    )
    func exchanges(_ part: ExchangeTable.Part) async throws {
        try await ExchangeRun.perform(part.rows)
    }

    @Test("The table of exchanges has at least 280 exchanges with unique names")
    func size() {
        let rows = ExchangeTable.parts.flatMap(\.rows)
        #expect(rows.count >= 280)
        #expect(Set(rows.map(\.name)).count == rows.count)
    }
}
