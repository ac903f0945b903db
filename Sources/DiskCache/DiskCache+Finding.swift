import Primitives

/// Look-ups that never block the caller. Each calls `then` once: at once on the caller's thread when memory alone can
/// answer, otherwise later on a thread that may wait for the disk. `then` must not block.
extension DiskCache {
    /// Finds an entry with its body, fresh or stale. A body that differs from the index is verified first, which takes
    /// as long as reading it; a damaged body counts as absent. For `url` see ``load(_:expectingURL:mayWait:)``.
    package func find(
        _ key: String, expectingURL url: String? = nil,
        then: @escaping @Sendable (Result<StoredEntry?, DiskCacheError>) -> Void
    ) {
        find(key, url, mayWait: false, then)
    }

    private func find(
        _ key: String, _ url: String?, mayWait: Bool,
        _ then: @escaping @Sendable (Result<StoredEntry?, DiskCacheError>) -> Void
    ) {
        do {
            switch try load(key, expectingURL: url, mayWait: mayWait) {
            case .hit(let stored): then(.success(stored))
            case .absent: then(.success(nil))
            case .onDisk: onDiskThread { [self] in find(key, url, mayWait: true, then) }
            case .needsVerification:
                verify(key) { result in then(result.map { $0.flatMap { $0.entry.isOf(url) ? $0 : nil } }) }
            }
        } catch {
            then(.failure(error))
        }
    }

    /// Finds an entry, fresh or stale. The body is not checked.
    package func findEntry(_ key: String, then: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void) {
        resolve(then) { [self] (mayWait) throws(DiskCacheError) in try lookUp(key, mayWait: mayWait) }
    }

    package func findResponses(
        to url: ResponseURL, then: @escaping @Sendable (Result<[Entry], DiskCacheError>) -> Void
    ) {
        resolve(then) { [self] (mayWait) throws(DiskCacheError) in
            try responses(to: url, mayWait: mayWait).map { .found($0) } ?? .onDisk
        }
    }

    /// `then` gets `nil` when the body cannot be read this way; see ``passing(_:at:mayWait:)``.
    package func findPassing(_ key: String, then: @escaping @Sendable (PassingBody?) -> Void) {
        switch passing(key, at: parts.clock.now()) {
        case .body(let body): then(body)
        case .none: then(nil)
        case .onDisk:
            onDiskThread { [self] in
                if case .body(let body) = passing(key, at: parts.clock.now(), mayWait: true) {
                    then(body)
                } else {
                    then(nil)
                }
            }
        }
    }

    /// Calls `find` without waiting for the disk, and again on a thread that may wait when the disk is needed.
    private func resolve<Value: Sendable>(
        _ then: @escaping @Sendable (Result<Value, DiskCacheError>) -> Void,
        _ find: @escaping @Sendable (_ mayWait: Bool) throws(DiskCacheError) -> Lookup<Value>
    ) {
        let lookUp = { @Sendable (mayWait: Bool) in
            Result { () throws(DiskCacheError) in try find(mayWait) }
        }
        switch lookUp(false) {
        case .success(.found(let value)): then(.success(value))
        case .failure(let error): then(.failure(error))
        case .success(.onDisk):
            onDiskThread {
                switch lookUp(true) {
                case .success(.found(let value)): then(.success(value))
                case .failure(let error): then(.failure(error))
                case .success(.onDisk): preconditionFailure("a look-up that may wait for the disk has to find")
                }
            }
        }
    }
}
