import Foundation
import Primitives
import Testing

@Suite("The wake signal")
struct WakeSignalTests {
    @Test("The signal's descriptor is readable after one or several raises, until the signal is lowered")
    func raised() throws {
        let signal = try #require(WakeSignal())
        func isReadable() -> Bool {
            var polled = pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&polled, 1, 0) == 1
        }
        #expect(!isReadable())
        signal.lower()
        for _ in 0..<2 {
            signal.raise()
            signal.raise()
            #expect(isReadable())
            signal.lower()
            #expect(!isReadable())
        }
    }
}
