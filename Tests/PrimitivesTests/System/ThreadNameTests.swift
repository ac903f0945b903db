import Foundation
import Primitives
import TestSupport
import Testing

@Suite("The name of a thread")
struct ThreadNameTests {
    @Test(
        "The system shows the first 15 bytes of a thread's name", arguments: ["larder-test", "a-name-of-23-characters"])
    func shown(name: String) async throws {
        let shown = Recorder<String>()
        let done = Gate("name")
        Thread.detachNewThread {
            ThreadName.set(name)
            shown.append((try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "none")
            done.open()
        }
        try await done.wait()
        #expect(shown.elements == [name.prefix(15) + "\n"])
    }
}
