import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The threads that may wait for the disk")
struct DiskThreadsTests {
    @Test("Threads skip work that no caller waits for while all are busy and after they have been stopped")
    func busy() async throws {
        let threads = DiskThreads(count: 2)
        let done = Recorder<String>()
        let mayGoOn = Gate("the end of what holds the threads")
        try await blocking {
            let begun = (0..<2).map { Gate("work \($0)") }
            for gate in begun {
                threads.run {
                    gate.open()
                    try? mayGoOn.waitBlocking()
                }
            }
            for gate in begun { try gate.waitBlocking() }
            for number in 0..<4 { threads.runUnlessBusy { done.append("spare \(number)") } }
            threads.run { done.append("asked for") }
            mayGoOn.open()
            try pollBlocking("what was taken to be done") { done.elements.count == 3 }
            threads.runUnlessBusy { done.append("later") }
            try pollBlocking("another") { done.elements.count == 4 }
            threads.stop()
            threads.runUnlessBusy { done.append("too late") }
        }
        #expect(Set(done.elements) == ["spare 0", "spare 1", "asked for", "later"])
    }
}
