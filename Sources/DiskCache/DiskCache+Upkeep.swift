import Primitives

extension DiskCache {
    /// Does the periodic upkeep in the background. The owner calls it at the start and every minute. Removes useless
    /// expired entries, checks some bodies for damage, and looks for leftover files in some directories.
    package func maintain(completion: @escaping @Sendable () -> Void) {
        let log = parts.log
        // Frees the write buffers that a burst has left. The next burst allocates its own.
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
