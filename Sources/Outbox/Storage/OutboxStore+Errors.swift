import GRDB

extension OutboxStore {
    func write<Value>(_ body: (Database) throws -> Value) throws(OutboxError) -> Value {
        do {
            return try database.write(body)
        } catch {
            throw Self.map(error, path)
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(OutboxError) -> Value {
        do {
            // No other connection writes. GRDB's `read` crashes after `close`.
            return try database.unsafeRead(body)
        } catch {
            throw Self.map(error, path)
        }
    }

    static func map(_ error: any Error, _ path: String) -> OutboxError {
        switch error {
        case let error as OutboxError: return error
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: return .noSpace
            case .SQLITE_BUSY, .SQLITE_LOCKED: return .inUse(path: path)
            case .SQLITE_MISUSE: return .closed
            case .SQLITE_CORRUPT, .SQLITE_NOTADB:
                return .damaged(path: path, reason: error.message ?? "unreadable")
            default:
                return .database(code: error.extendedResultCode.rawValue, message: error.message ?? "unknown error")
            }
        default: return .database(code: -1, message: "\(error)")
        }
    }
}
