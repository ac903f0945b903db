import GRDB

extension DiskCacheError {
    init(_ error: any Error) {
        switch error {
        case let error as DiskCacheError: self = error
        case is Schema.Unreadable:
            self = .index(
                code: ResultCode.SQLITE_CORRUPT.rawValue,
                message: "the index is damaged, or not an index of Larder; the next server start sets it aside")
        case let error as DatabaseError where error.resultCode == .SQLITE_FULL: self = .noSpace
        case let error as DatabaseError where error.resultCode == .SQLITE_MISUSE: self = .closed
        case let error as DatabaseError:
            self = .index(code: error.extendedResultCode.rawValue, message: error.message ?? "unknown error")
        default: self = .index(code: -1, message: "\(error)")
        }
    }

    var isIndexIO: Bool {
        guard case .index(let code, _) = self else { return false }
        return ResultCode(rawValue: code & 0xFF) == .SQLITE_IOERR
    }

    var isBusy: Bool {
        guard case .index(let code, _) = self else { return false }
        return ResultCode(rawValue: code & 0xFF) == .SQLITE_BUSY
    }

    var isIndexDamage: Bool {
        guard case .index(let code, _) = self else { return false }
        let primary = ResultCode(rawValue: code & 0xFF)
        return primary == .SQLITE_CORRUPT || primary == .SQLITE_NOTADB
    }
}

func mappingErrors<T>(_ body: () throws -> T) throws(DiskCacheError) -> T {
    do {
        return try body()
    } catch {
        throw DiskCacheError(error)
    }
}
