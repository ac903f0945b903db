import Foundation

/// A step that is repeated in the background while the load runs.
///
/// `@unchecked Sendable` is safe because the mutable properties are only accessed while `lock` is held.
final class Background: @unchecked Sendable {
    /// Runs the step once. The text is the result of the previous run, or `nil` in the first run. The result `nil`
    /// ends the repetition, and an empty result makes the step start over with `nil`.
    typealias Step = @Sendable (HTTPConnection, String?) throws -> String?

    private let port: UInt16
    private let step: Step
    private let lock = NSLock()
    private var isEnding = false
    private var count = 0

    init(_ server: Server, _ step: @escaping Step) {
        port = server.port
        self.step = step
    }

    /// Repeats the step during `work`, and adds the number of runs to the sample.
    func during(_ work: () throws -> Sample) throws -> Sample {
        let group = DispatchGroup()
        let failure = FirstError()
        group.enter()
        Thread { [self] in
            do { try repeatStep() } catch { failure.note(error) }
            group.leave()
        }.start()
        let result = Result(catching: work)
        lock.withLock { isEnding = true }
        group.wait()
        try failure.rethrow()
        var sample = try result.get()
        sample[.runs] = Double(lock.withLock { count })
        return sample
    }

    private func repeatStep() throws {
        let connection = try HTTPConnection(port: port)
        var state: String?
        while !lock.withLock({ isEnding }) {
            // An empty text means that the step has reached its end and starts over.
            state = try step(connection, state?.isEmpty == true ? nil : state)
            lock.withLock { count += 1 }
            if state == nil { return }
        }
    }
}
