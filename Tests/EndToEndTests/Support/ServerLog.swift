import Logging
import TestSupport

/// Keeps the lines of the log of a ``TestServer``.
final class ServerLog: Sendable {
    private struct Line: Sendable {
        let message: String
        let metadata: [String: String]
    }

    private struct Handler: LogHandler {
        let recorder: Recorder<Line>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let whole = metadata.merging(event.metadata ?? [:]) { $1 }
            recorder.append(Line(message: "\(event.message)", metadata: whole.mapValues { "\($0)" }))
        }
    }

    private let recorder = Recorder<Line>()

    /// A logger of the level `info` that writes to this log.
    var logger: Logger { Logger(label: "test", factory: { [recorder] _ in Handler(recorder: recorder) }) }

    /// The metadata of the lines with a message, in order.
    func lines(_ message: String) -> [[String: String]] {
        recorder.elements.filter { $0.message == message }.map(\.metadata)
    }
}
