import Foundation
import Larder
import Logging
import Primitives

/// Writes log lines to standard error: text on a terminal, else a JSON object per line.
struct LogOutput: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let format: Configuration.LogFormat

    /// Sets the output of all loggers of the process. Returns the server's logger.
    static func start(_ configuration: Configuration) -> Logger {
        let format = configuration.logFormat ?? (isatty(STDERR_FILENO) == 1 ? .text : .json)
        let level = configuration.logLevel
        LoggingSystem.bootstrap { _ in LogOutput(logLevel: level, format: format) }
        return Logger(label: "larder")
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    private static let output = LineOutput(STDERR_FILENO)

    func log(event: LogEvent) {
        let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
        Self.output.write(line(event.level, "\(event.message)", metadata)) { count in
            line(.warning, "log lines were lost", ["lines": .number(count), "reason": "they could not be written"])
        }
    }

    private func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
        let date = SystemClock().now().rfc3339
        let all = metadata.sorted { $0.key < $1.key }
        var line: String
        switch format {
        case .json:
            let members: [JSON.Member] = [
                .init("time", .string(date)), .init("level", .string(level.rawValue)),
                .init("message", .string(message)),
            ]
            line = JSON.object(members + all.map { .init($0.key, JSON($0.value)) }).text
        case .text:
            line = "\(date) \(level.rawValue) \(LogText.words(message))"
            for (key, value) in all { line += " \(LogText.value(key))=\(LogText.value("\(value)"))" }
        }
        return line + "\n"
    }
}

extension JSON {
    /// Numbers, truth values, arrays and dictionaries keep their type. All other values become text.
    fileprivate init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .array(let values): self = .array(values.map { JSON($0) })
        case .dictionary(let values):
            self = .object(values.sorted { $0.key < $1.key }.map { .init($0.key, JSON($0.value)) })
        case .stringConvertible(let value):
            switch value {
            case let value as Bool: self = .bool(value)
            case let value as any BinaryInteger: self = .number(value.description)
            // JSON has neither infinity nor NaN (RFC 8259 §6).
            case let value as Double where value.isFinite: self = .number(value.description)
            default: self = .string(value.description)
            }
        }
    }
}
