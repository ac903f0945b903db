import Primitives
import Testing

@testable import LarderClient

@Suite("The numbers of an answer")
struct AmountsTests {
    @Test("A count is a non-negative integer that fits 64 bits, and any other value is rejected")
    func counts() {
        for text in ["0", "1024", "9223372036854775807"] { #expect(JSON.number(text).countValue == Int64(text)) }
        for text in ["-1", "1.5", "1e3", "1e300", "-1e300", "9223372036854775808"] {
            #expect(JSON.number(text).countValue == nil, "\(text)")
        }
        #expect(JSON.string("1").countValue == nil)
        #expect(Int64(1).addingClamped(2) == 3 && Int64.max.addingClamped(.max) == .max)
    }

    @Test("A duration is read from any number, clamped between zero and a maximum")
    func times() throws {
        #expect(JSON.number("63.5").durationValue == .milliseconds(63_500))
        for text in ["-1", "-1e300", "-1e999"] { #expect(JSON.number(text).durationValue == .zero) }
        let longest = try #require(JSON.number("1e999").durationValue)
        #expect(JSON.number("1e300").durationValue == longest && longest > .seconds(1_000_000_000))
        #expect(JSON.string("1").durationValue == nil)
    }

    @Test(
        "An entry or a download with an impossible length is rejected",
        arguments: ["-1", "1e300", "1e999", "9223372036854775808", "0.5"])
    func lengths(number: String) throws {
        let text = entryJSON(url: "http://h/").text
        let json = try JSON(parsing: text.replacing("\"contentLength\":3", with: "\"contentLength\":\(number)"))
        #expect(json["contentLength"] == .number(number))
        #expect(throws: ClientError.self) { try HeldEntry(json) }
        let download: JSON = ["state": "running", "url": "http://h/", "receivedBytes": .number(number)]
        #expect(RunningDownload(download) == nil)
    }
}
