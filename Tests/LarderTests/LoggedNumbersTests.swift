import Logging
import Testing

@testable import Larder

@Suite("Numbers in the log")
struct LoggedNumbersTests {
    @Test(
        "Seconds are rounded to the microsecond",
        arguments: [
            (Duration.nanoseconds(1_169_229), 0.001169), (.nanoseconds(999_999_999), 1), (.milliseconds(250), 0.25),
            (.zero, 0), (.nanoseconds(400), 0), (.seconds(86_400) + .microseconds(1), 86_400.000001),
        ])
    func seconds(duration: Duration, number: Double) {
        guard case .stringConvertible(let value) = Logger.MetadataValue.seconds(duration) else {
            Issue.record("a number")
            return
        }
        #expect(value as? Double == number)
        #expect("\(value)".utf8.count <= 12)
    }
}
