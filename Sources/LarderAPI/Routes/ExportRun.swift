import Dispatch
import Larder
import MicroHTTPD
import Primitives

/// Sends an export while it is made. The export waits for a client that reads slowly, on a thread of its own.
final class ExportRun: Sendable {
    /// The most exports at the same time, because each takes a thread.
    static let limit = 8
    private static let running = Locked(0)
    private static let queue = DispatchQueue(label: "larder.pages.export", qos: .utility, attributes: .concurrent)
    private struct Closed: Error {}

    let stream = ResponseStream()
    private let export: PageExport
    private let format: PageExport.Format

    /// `nil`: too many exports are running.
    init?(_ export: PageExport, _ format: PageExport.Format) {
        let isAdmitted = Self.running.withLock { running in
            guard running < Self.limit else { return false }
            running += 1
            return true
        }
        guard isAdmitted else { return nil }
        self.export = export
        self.format = format
    }

    deinit { Self.running.withLock { $0 -= 1 } }

    func start() {
        Self.queue.async { [self] in
            do {
                try export.write(format) { [self] bytes in try send(bytes) }
                stream.finish()
            } catch {
                stream.fail()
            }
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer) throws {
        switch stream.write(bytes) {
        case .room: return
        case .closed: throw Closed()
        case .full:
            let hasRoom = DispatchSemaphore(value: 0)
            stream.onRoom { hasRoom.signal() }
            hasRoom.wait()
        }
    }
}
