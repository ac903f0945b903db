import Foundation

package enum DiskCacheError: Error, Hashable, Sendable {
    /// Another process, or another object of this process, holds the directory.
    case inUse(directory: String)
    case notACache(directory: String)
    /// A newer Larder wrote the index, which is left as it is.
    case newerFormat(found: Int, supported: Int)
    case invalidNamespace(String)
    case entryTooLarge(limit: Int64)
    /// The disk is full, or the limit is reached and the other entries may not be evicted.
    case noSpace
    case lengthMismatch(expected: Int64, received: Int64)
    case emptyBody
    /// JSON `null`, or an object without members.
    case emptyJSON
    case invalidJSON
    /// The text describes the fault.
    case notUTF8(String)
    case tooManyTags(limit: Int)
    /// The cursor belongs to another query, or is not a cursor.
    case invalidCursor
    /// The entry to refresh is gone or has another body by now, or the entry kept changing while it was verified.
    case versionChanged
    case conditionFailed
    case reservationEnded
    case closed
    case fileSystem(operation: String, path: String, errno: Int32)
    /// A file of the index or slab, or a directory above it, was replaced. A restart would lose later writes.
    case indexLost(path: String)
    /// SQLite's extended result code and its message.
    case index(code: Int32, message: String)
}

extension DiskCacheError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let directory): "the cache directory \(directory) is in use by another process"
        case .notACache(let directory):
            "\(directory) is neither empty nor a cache, and was not changed; choose another directory"
        case .newerFormat(let found, let supported):
            "the index has format \(found), but this program supports formats up to \(supported)"
        case .invalidNamespace(let name):
            "\"\(name)\" is not a namespace; expected 1 to 63 characters of a-z, 0-9 and -"
        case .entryTooLarge(let limit): "the body is longer than \(limit) bytes, the limit for one entry"
        case .noSpace: "no room in the cache"
        case .lengthMismatch(let expected, let received):
            "\(received) bytes were received, but \(expected) were declared"
        case .emptyBody: "empty bodies are not stored"
        case .emptyJSON: "null and an object without members are not stored"
        case .invalidJSON: "the body is not JSON"
        case .notUTF8(let fault): "the body is not JSON: \(fault)"
        case .tooManyTags(let limit): "the entry has too many tags; the limit is \(limit)"
        case .invalidCursor: "the cursor does not belong to this query"
        case .versionChanged: "the entry was changed by another request"
        case .conditionFailed: "the condition does not hold"
        case .reservationEnded: "the reservation has ended"
        case .closed: "the cache is closed"
        case .fileSystem(let operation, let path, let errno):
            "\(operation) \(path): \(String(cString: strerror(errno)))"
        case .indexLost(let path):
            """
            \(path), or a directory above it, was removed or replaced during use. Nothing is stored until it is restored \
            or Larder is restarted
            """
        case .index(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}

/// Gets the outcome of a look-up, or of a change once the change is durable.
package typealias Completion<Value> = @Sendable (Result<Value, DiskCacheError>) -> Void

/// A message to an operator.
package struct DiskCacheNotice: Sendable {
    package enum Level: String, Sendable {
        case info
        /// A repaired fault.
        case warning
        /// A fault that persists.
        case error
    }

    package var level: Level
    /// A fixed text for each kind of event. The details are in ``metadata``.
    package var message: String
    package var metadata: [String: Value]

    /// A number stays a number in a JSON log.
    package enum Value: Hashable, Sendable, ExpressibleByStringInterpolation {
        case text(String)
        case number(Int)

        package init(stringLiteral text: String) { self = .text(text) }
    }

    package init(_ level: Level, _ message: String, _ metadata: [String: Value] = [:]) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}

/// Points at which tests simulate a kill: ``SimulatedCrash`` stops the writer, which neither undoes nor commits.
package enum CrashPoint: String, CaseIterable, Sendable {
    /// The path of a new body was noted. No file was moved yet.
    case intentNoted
    /// The body that is to be replaced has a second name in `incoming/`.
    case oldBodyLinked
    case bodyPlaced
    /// A body that stood where a directory is needed was moved to `incoming/`.
    case bodyTakenAway
    /// The body that was taken away has its new name.
    case bodyMoved
    case directoryMade
    /// The body of a removed entry is in `incoming/`.
    case bodySetAside
    case slotWritten
    case beforeCommit
    /// The transaction is durable. The bodies that it replaced are still in `incoming/`.
    case afterCommit
}

struct SimulatedCrash: Error {}
