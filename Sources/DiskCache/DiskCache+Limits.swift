extension DiskCache {
    package var diskLimit: Int64 { parts.budget.limit }

    /// The bytes that count against ``diskLimit``: `all` is the size of the committed entries and of the room promised
    /// to bodies that are being received. `pinned` is the size of the committed entries that are never evicted.
    package var takenDiskBytes: (all: Int64, pinned: Int64) { parts.budget.taken }

    /// Entries beyond the limit are evicted in the background, in small steps. Pinned entries stay all the same.
    package func setDiskLimit(_ bytes: Int64) {
        parts.budget.setLimit(bytes)
        evictExcess()
    }

    private func evictExcess() {
        guard parts.budget.used > parts.budget.limit else { return }
        writer.submit(makesRoom: true, { try $0.evictExcess() }) { [weak self] result in
            // Stops when a step removed no entry, because then none may be evicted. The next store tries again.
            if case .success(let count) = result, count > 0 { self?.evictExcess() }
        }
    }

    package var memoryLimit: Int { parts.memory.limit }

    /// Changes both limits. Entries beyond the limit are evicted from memory; they stay on disk. Only one thread may
    /// call this method and ``setCurrentMemoryLimit(_:)``.
    package func setMemoryLimit(_ bytes: Int) {
        let hasChanged = bytes != memoryLimit
        parts.memory.setLimit(bytes)
        if hasChanged {
            parts.slotTable.empty(memoryLimit: CacheParts.slotTableLimit(ofMemory: bytes))
        }
    }

    /// Entries stay on disk. All answers kept at hand have ended when this method returns.
    package func emptyMemory() {
        parts.memory.removeAll()
    }

    /// ``memoryLimit``, or less while memory is short.
    package var currentMemoryLimit: Int { parts.memory.currentLimit }

    /// The limit is at most ``memoryLimit``. Entries beyond it stay on disk. Only one thread may call this method.
    package func setCurrentMemoryLimit(_ bytes: Int) {
        parts.memory.setCurrentLimit(bytes)
    }

    /// Evicts entries from memory until the tier holds at most `target` bytes. Returns the bytes given back.
    @discardableResult
    package func trimMemory(toBytes target: Int) -> Int {
        parts.memory.trim(toBytes: target)
    }

    /// Frees the page caches of the index and the write buffers, and empties the slot table. Waits until the
    /// connections are not in use, and waits for the writer. So it must not be called from a completion.
    package func releaseWorkingMemory() {
        parts.bodies.writeBuffers.trim()
        parts.slotTable.empty()
        parts.index.releaseReadersMemory()
        try? writer.perform { context in context.index.db.releaseMemory() }
    }
}
