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

    /// SQLite's primary result code; `nil` for an error of another kind.
    private var indexCode: ResultCode? {
        guard case .index(let code, _) = self else { return nil }
        return ResultCode(rawValue: code & 0xFF)
    }

    var isIndexIO: Bool { indexCode == .SQLITE_IOERR }
    var isBusy: Bool { indexCode == .SQLITE_BUSY }
    var isIndexDamage: Bool { indexCode == .SQLITE_CORRUPT || indexCode == .SQLITE_NOTADB }
}

func mappingErrors<T>(_ body: () throws -> T) throws(DiskCacheError) -> T {
    do {
        return try body()
    } catch {
        throw DiskCacheError(error)
    }
}
