/// What may be changed while a namespace is open.
extension DiskCache {
    /// The most bytes that entries may take on disk now.
    public var diskLimit: Int64 { parts.budget.limit }

    /// What entries take of ``diskLimit``, with what is promised to bodies that are being received; and, of what is
    /// committed, what is pinned and never goes by itself.
    public var takenDiskBytes: (all: Int64, pinned: Int64) { parts.budget.taken }

    /// Changes ``diskLimit``. What is too much goes in the background, in small steps; what is pinned stays all the
    /// same.
    public func setDiskLimit(_ bytes: Int64) {
        parts.budget.setLimit(bytes)
        evictExcess()
    }

    private func evictExcess() {
        guard parts.budget.used > parts.budget.limit else { return }
        writer.submit(makesRoom: true, { try $0.evictExcess() }) { [weak self] result in
            // Not for ever: where nothing went, nothing may go, and the next store tries again.
            if case .success(let count) = result, count > 0 { self?.evictExcess() }
        }
    }

    /// The most bytes that the memory tier may take.
    public var memoryLimit: Int { parts.memory.limit }

    /// Changes ``memoryLimit``, and ``currentMemoryLimit`` to the same. What is too much is evicted, and nothing lost.
    /// One thread calls it, the same that calls ``setCurrentMemoryLimit(_:)``.
    public func setMemoryLimit(_ bytes: Int) {
        let hasChanged = bytes != memoryLimit
        parts.memory.setLimit(bytes)
        if hasChanged {
            parts.slotTable.empty(memoryLimit: CacheParts.slotTableLimit(ofMemory: bytes))
        }
    }

    /// Forgets what is in memory; all of it is on disk. What was kept at hand has ended when this returns.
    public func emptyMemory() {
        parts.memory.removeAll()
    }

    /// The most bytes that the memory tier may take now: ``memoryLimit``, or less while memory is short.
    public var currentMemoryLimit: Int { parts.memory.currentLimit }

    /// Changes how much the memory tier may hold for now, up to ``memoryLimit``, and evicts what is too much. Nothing
    /// is lost: all of it is on disk. One thread calls it.
    public func setCurrentMemoryLimit(_ bytes: Int) {
        parts.memory.setCurrentLimit(bytes)
    }

    /// Gives memory back until the memory tier holds at most `target` bytes. Nothing is lost: all of it is on disk.
    ///
    /// - Returns: how many bytes have gone.
    @discardableResult
    public func trimMemory(toBytes target: Int) -> Int {
        parts.memory.trim(toBytes: target)
    }

    /// Has the index give back the memory of its page caches, the body store that of its buffers, and forgets where
    /// small bodies are. Waits until
    /// nobody uses a connection, and never for the writer from a completion.
    public func releaseWorkingMemory() {
        parts.bodies.writeBuffers.trim()
        parts.slotTable.empty()
        parts.index.releaseReadersMemory()
        try? writer.perform { context in context.index.db.releaseMemory() }
    }
}
