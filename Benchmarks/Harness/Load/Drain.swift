import Foundation

/// Reads from connections on its own thread, and discards the bytes.
///
/// `@unchecked Sendable` is safe because the mutable properties are only accessed while `lock` is held.
final class Drain: @unchecked Sendable {
    private let descriptors: [Int32]
    private let lock = NSLock()
    private var isEnding = false
    /// The number of connections that have received no bytes yet.
    private var silentCount: Int

    init(_ connections: IdleConnections) {
        descriptors = connections.descriptors
        silentCount = connections.descriptors.count
    }

    /// Reads during `work`, and afterwards until each connection has received bytes, for at most five seconds. Throws
    /// if a connection has received no bytes.
    func during(_ work: () throws -> Sample) throws -> Sample {
        let group = DispatchGroup()
        group.enter()
        Thread { [self] in
            readAll()
            group.leave()
        }.start()
        let result = Result(catching: work)
        lock.withLock { isEnding = true }
        group.wait()
        let silent = lock.withLock { silentCount }
        let sample = try result.get()
        guard silent == 0 else { throw BenchmarkError("\(silent) of \(descriptors.count) connections got no bytes") }
        return sample
    }

    private func readAll() {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        var silent = Set(descriptors)
        var end: Date?
        while true {
            for descriptor in descriptors {
                if recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT)) > 0 { silent.remove(descriptor) }
            }
            let isEnding = lock.withLock {
                silentCount = silent.count
                return self.isEnding
            }
            if isEnding, end == nil { end = Date().addingTimeInterval(5) }
            if let end, silent.isEmpty || Date() > end { return }
            // A pass every 100 ms is enough to keep up. A wake-up for each event would be most of the load.
            usleep(100_000)
        }
    }
}
