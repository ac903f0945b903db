/// The steps of a transaction outside the index: their undos, and the work after the commit. For the writer's thread.
final class Journal {
    private var undos: [() -> Void] = []
    private var commits: [() -> Void] = []
    private var cleanups: [() -> Void] = []
    private(set) var changes: [EntryChange] = []

    struct Mark: Equatable {
        fileprivate var undos: Int
        fileprivate var commits: Int
        fileprivate var cleanups: Int
        fileprivate var changes: Int
    }

    /// Undoes the last step. The steps are undone in reverse order.
    func onUndo(_ action: @escaping () -> Void) { undos.append(action) }

    /// Runs after the commit, before the change is acknowledged.
    func onCommit(_ action: @escaping () -> Void) { commits.append(action) }

    /// Runs after the change is durable and acknowledged.
    func afterwards(_ action: @escaping () -> Void) { cleanups.append(action) }
    func tell(_ change: EntryChange) { changes.append(change) }

    var mark: Mark {
        Mark(undos: undos.count, commits: commits.count, cleanups: cleanups.count, changes: changes.count)
    }

    func undo(to mark: Mark) {
        while undos.count > mark.undos { undos.removeLast()() }
        commits.removeSubrange(mark.commits...)
        cleanups.removeSubrange(mark.cleanups...)
        changes.removeSubrange(mark.changes...)
    }

    func undoAll() { undo(to: Mark(undos: 0, commits: 0, cleanups: 0, changes: 0)) }

    /// Call this when the transaction is durable.
    func committed() {
        undos = []
        for action in commits { action() }
        commits = []
    }

    /// Call this after every waiting caller was told.
    func cleanUp() {
        for action in cleanups { action() }
        cleanups = []
    }
}
