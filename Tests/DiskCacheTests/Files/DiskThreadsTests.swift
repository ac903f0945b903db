import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The threads that may wait for the disk")
struct DiskThreadsTests {
    @Test("Work without a waiting caller is dropped after a stop, or if one piece of work per thread is already queued")
    func busy() async throws {
        let threads = DiskThreads(count: 2)
        let done = Recorder<String>()
        let mayGoOn = Gate("the release of the threads")
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
            try pollBlocking("the end of the accepted work") { done.elements.count == 3 }
            threads.runUnlessBusy { done.append("later") }
            try pollBlocking("the end of the later work") { done.elements.count == 4 }
            threads.stop()
            threads.runUnlessBusy { done.append("too late") }
        }
        #expect(Set(done.elements) == ["spare 0", "spare 1", "asked for", "later"])
    }
}
