import Primitives
import Testing

@Suite("Times in the form of RFC 3339")
struct TimestampRFC3339Tests {
    @Test("A time is read as it was written", arguments: [0, 1, 999, 1_769_846_709_250, 253_402_300_799_999])
    func roundTrip(milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(rfc3339: time.rfc3339) == time)
    }

    @Test("A time without digits behind the second, or with one or nine of them, is read")
    func digits() {
        let second = Timestamp(rfc3339: "2026-01-31T08:05:09Z")
        #expect(second?.rfc3339 == "2026-01-31T08:05:09.000Z")
        #expect(Timestamp(rfc3339: "2026-01-31T08:05:09.5Z")?.rfc3339 == "2026-01-31T08:05:09.500Z")
        #expect(Timestamp(rfc3339: "2026-01-31T08:05:09.123456789Z")?.rfc3339 == "2026-01-31T08:05:09.123Z")
    }

    @Test(
        "Another text is no time",
        arguments: [
            "", "2026", "2026-02-30T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T08:60:00Z", "2026-01-31 08:05:09Z",
            "2026-01-31T08:05:09", "2026-01-31T08:05:09.Z", "2026-01-31T08:05:09+01:00", "2026-0a-31T08:05:09Z",
        ])
    func malformed(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }
}
