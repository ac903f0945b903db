/// What a transaction did outside the index, so that it can be undone, and what is to be done once it is durable.
/// Used by the writer's thread alone.
final class Journal {
    private var undos: [() -> Void] = []
    private var commits: [() -> Void] = []
    private var cleanups: [() -> Void] = []
    /// What who watches is to be told once it is durable.
    private(set) var changes: [EntryChange] = []

    /// How far the journal had come, to go back to.
    struct Mark: Equatable {
        fileprivate var undos: Int
        fileprivate var commits: Int
        fileprivate var cleanups: Int
        fileprivate var changes: Int
    }

    /// Says how to undo what was just done. Undone last first.
    func onUndo(_ action: @escaping () -> Void) { undos.append(action) }

    /// Says what others must know before the change is acknowledged.
    func onCommit(_ action: @escaping () -> Void) { commits.append(action) }

    /// Says what can be thrown away once the change is durable; after it was acknowledged.
    func afterwards(_ action: @escaping () -> Void) { cleanups.append(action) }

    /// Says what who watches is to be told.
    func tell(_ change: EntryChange) { changes.append(change) }

    /// Where the journal stands.
    var mark: Mark {
        Mark(undos: undos.count, commits: commits.count, cleanups: cleanups.count, changes: changes.count)
    }

    /// Undoes what was done since `mark`.
    func undo(to mark: Mark) {
        while undos.count > mark.undos { undos.removeLast()() }
        commits.removeSubrange(mark.commits...)
        cleanups.removeSubrange(mark.cleanups...)
        changes.removeSubrange(mark.changes...)
    }

    /// Undoes everything.
    func undoAll() { undo(to: Mark(undos: 0, commits: 0, cleanups: 0, changes: 0)) }

    /// The transaction is durable.
    func committed() {
        undos = []
        for action in commits { action() }
        commits = []
    }

    /// Everybody who waited was told.
    func cleanUp() {
        for action in cleanups { action() }
        cleanups = []
    }
}
