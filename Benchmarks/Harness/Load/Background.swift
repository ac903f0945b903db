import Foundation

/// Something that is done again and again while the load runs.
///
/// `@unchecked Sendable` because what changes is only touched while `lock` is held.
final class Background: @unchecked Sendable {
    /// Does it once. Gets what the last time returned, `nil` at first; `nil` from it means that once was enough.
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

    /// Runs it during `work`, and adds to the sample how often it ran.
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
            // An empty text: the end was reached, and it begins anew.
            state = try step(connection, state?.isEmpty == true ? nil : state)
            lock.withLock { count += 1 }
            if state == nil { return }
        }
    }
}
