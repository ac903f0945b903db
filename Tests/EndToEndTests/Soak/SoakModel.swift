/// The contents that the server may hold, derived from its responses. The model is pure: it uses no server and no
/// clock.
///
/// Each name has a single owner, which makes one call after the other. So at most one change of a name is under way. A
/// pinned entry must be present. Any other entry may have been evicted. If present, it has the acknowledged content.
struct SoakModel: Sendable {
    /// A version of a body, and the end of its freshness in seconds of the run.
    struct Held: Hashable, Sendable {
        var version: Int
        var freshUntil: Double
    }

    /// The change that a call intends.
    enum Change: Hashable, Sendable {
        /// The name holds this content.
        case store(Held)
        /// The name holds no content.
        case remove
        /// The content of the name stays, and is fresh until this time.
        case retime(Double)
    }

    /// The outcome of a call.
    enum End: Sendable {
        case done
        /// The response says that the change was not made.
        case refused
        /// There was no response, so the change may have been made.
        case unknown
    }

    private struct Account {
        var isPinned: Bool
        /// The contents that the name may hold.
        var possible: [Held] = []
        /// Whether a read of the name may find no content although the name is pinned.
        var mayBeAbsent = true
        /// The change of the call under way.
        var pending: Change?
        /// The content that a download may still store, although the client of the download has disconnected.
        var floating: Held?
        /// The possible contents before a hit renewed the expiry date, and the time of this hit.
        var beforeSlide: (held: [Held], time: Double)?

        var candidates: [Held] {
            var all = possible
            if case .store(let held)? = pending { all.append(held) }
            if case .retime(let end)? = pending { all += possible.map { Held(version: $0.version, freshUntil: end) } }
            if let floating { all.append(floating) }
            return all
        }
    }

    private var accounts: [String: Account] = [:]
    private var lastVersion = 0

    /// The tolerance in seconds, because test and server read the clock at different moments.
    static let slack = 1.0
    /// The time in seconds after which the index surely has the expiry date that a hit renewed. The server writes such
    /// dates within a second, but a busy disk takes longer.
    static let flushLimit = 3.0

    /// Adds a name without content.
    mutating func open(_ name: String, isPinned: Bool) {
        accounts[name] = Account(isPinned: isPinned)
    }

    /// A new, unused version.
    mutating func newVersion() -> Int {
        lastVersion += 1
        return lastVersion
    }

    // MARK: - Changes

    /// Begins a call that makes the same change to all these names.
    mutating func begin(_ names: [String], _ change: Change) {
        for name in names { accounts[name]?.pending = change }
    }

    /// Ends the call under way for these names.
    mutating func end(_ names: [String], _ end: End) {
        for name in names {
            guard var account = accounts[name], let change = account.pending else { continue }
            account.pending = nil
            // The server has written the earlier hit before this change, so a kill can no longer undo the hit.
            if case .done = end { account.beforeSlide = nil }
            switch (change, end) {
            case (_, .refused): break
            case (.store(let held), .done):
                account.possible = [held]
                account.mayBeAbsent = false
            case (.store(let held), .unknown): account.possible.append(held)
            case (.remove, .done):
                account.possible = []
                account.mayBeAbsent = true
                // The purge prevents a download that was running from storing its body.
                account.floating = nil
            case (.remove, .unknown): account.mayBeAbsent = true
            case (.retime(let time), .done):
                for index in account.possible.indices { account.possible[index].freshUntil = time }
            case (.retime(let time), .unknown):
                account.possible += account.possible.map { Held(version: $0.version, freshUntil: time) }
            }
            accounts[name] = account
        }
    }

    /// Records a response that says which version the name holds now.
    ///
    /// - Parameters:
    ///   - freshUntil: the end of freshness; `nil` when the response did not change it.
    ///   - slidAt: the time of the hit that moved the end of freshness; `nil` for any other response. A kill may undo
    ///     the move.
    /// - Returns: the error in the response; `nil` when the response is possible.
    mutating func settle(_ name: String, version: Int, freshUntil: Double?, slidAt: Double? = nil) -> String? {
        guard var account = accounts[name] else { return "\(name) belongs to no worker" }
        let fitting = account.candidates.filter { $0.version == version }
        guard !fitting.isEmpty else { return "\(name) was given as version \(version), but \(words(account))" }
        account.possible = [
            Held(version: version, freshUntil: freshUntil ?? fitting.map(\.freshUntil).max() ?? 0)
        ]
        // A kill may undo several recent hits together, so the contents before the first of these hits stay possible.
        let isUndoable = account.beforeSlide.map { (slidAt ?? .infinity) - $0.time < Self.flushLimit } ?? false
        let earlier = isUndoable ? account.beforeSlide?.held ?? [] : []
        account.beforeSlide = slidAt.map { (earlier + fitting, $0) }
        account.mayBeAbsent = false
        account.pending = nil
        if account.floating?.version == version { account.floating = nil }
        accounts[name] = account
        return nil
    }

    /// Records that the client of the call under way disconnects, and that the call's download goes on.
    mutating func letGo(_ name: String) {
        guard var account = accounts[name], case .store(let held)? = account.pending else { return }
        account.pending = nil
        // An earlier download of a disconnected client may have stored its body already.
        if let earlier = account.floating { account.possible.append(earlier) }
        account.floating = held
        accounts[name] = account
    }

    /// Records that a hit without a response may have moved the end of freshness by an unknown time.
    mutating func mayHaveSlid(_ name: String) {
        let versions = Set(accounts[name]?.possible.map(\.version) ?? [])
        accounts[name]?.possible += versions.map { Held(version: $0, freshUntil: .infinity) }
    }

    /// Records that the server has ended, and with it all its downloads. If the server was killed, it may also have
    /// lost its latest hits.
    mutating func restart(at time: Double) {
        for (name, old) in accounts {
            var account = old
            if let floating = account.floating { account.possible.append(floating) }
            account.floating = nil
            if let before = account.beforeSlide, time - before.time < Self.flushLimit {
                account.possible += before.held
            }
            account.beforeSlide = nil
            accounts[name] = account
        }
    }

    // MARK: - Questions

    /// All names.
    var names: [String] { accounts.keys.sorted() }

    /// The versions that a name may hold now.
    func candidates(_ name: String) -> Set<Int> { Set(accounts[name]?.candidates.map(\.version) ?? []) }

    /// Whether the call under way removes any of these names.
    func isRemoving(_ names: [String]) -> Bool { names.contains { accounts[$0]?.pending == .remove } }

    /// The version that a name holds for certain, unless it was evicted; `nil` when no version is certain.
    func certainVersion(_ name: String) -> Int? {
        guard let account = accounts[name], account.pending == nil, account.floating == nil else { return nil }
        let versions = Set(account.possible.map(\.version))
        return versions.count == 1 ? versions.first : nil
    }

    /// Checks against the model that a request found this version under a name, or no entry if `version` is `nil`.
    /// Returns the error; `nil` when the model permits the result.
    ///
    /// - Parameter time: the time of the request for a fresh entry; `nil` when the entry need not be fresh.
    func verdict(_ name: String, found version: Int?, at time: Double?) -> String? {
        guard let account = accounts[name] else { return "\(name) belongs to no worker" }
        guard let version else {
            if !account.isPinned || account.mayBeAbsent || account.pending == .remove { return nil }
            return "\(name) is pinned and was lost: \(words(account))"
        }
        let fitting = account.candidates.filter { $0.version == version }
        guard !fitting.isEmpty else { return "\(name) holds version \(version), but \(words(account))" }
        if let time, fitting.allSatisfy({ $0.freshUntil + Self.slack < time }) {
            return "\(name) was served \(time - fitting.map(\.freshUntil).max()!) s after its time: \(words(account))"
        }
        return nil
    }

    private func words(_ account: Account) -> String {
        var words = account.possible.map { "\($0.version)" }
        if account.mayBeAbsent || !account.isPinned { words.append("nothing") }
        if let pending = account.pending { words.append("\(pending) under way") }
        if let floating = account.floating { words.append("\(floating.version) of a client that left") }
        return "it may hold " + words.joined(separator: ", ")
    }
}
