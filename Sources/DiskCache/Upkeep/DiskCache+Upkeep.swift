import Primitives

extension DiskCache {
    /// Periodic upkeep; the owner calls it at the start and every minute. Removes what has expired for good, looks at
    /// some bodies and directories for rot and leftovers. Everything in the background; `completion` comes when it is
    /// done.
    public func maintain(completion: @escaping @Sendable () -> Void) {
        let log = parts.log
        // What a burst has left; the next one takes its own.
        parts.bodies.writeBuffers.trim()
        let wholeTree = parts.index.startedEmpty && !parts.treeWasSearched.withLock { $0 }
        sweepExpired { [scrubber, parts] result in
            Self.log(result, "expired entries could not be removed", log)
            scrubber.step(wholeTree: wholeTree) { result in
                if case .success = result { parts.treeWasSearched.withLock { $0 = true } }
                Self.log(result, "bodies could not be checked", log)
                completion()
            }
        }
    }

    private static func log<Value>(
        _ result: Result<Value, DiskCacheError>, _ message: String, _ log: (DiskCacheNotice) -> Void
    ) {
        if case .failure(let error) = result, error != .closed {
            log(DiskCacheNotice(.warning, message, ["reason": "\(error)"]))
        }
    }
}
