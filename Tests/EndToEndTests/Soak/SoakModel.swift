/// What the server may hold, as far as it follows from what it has acknowledged. Pure: it knows no server and no clock.
///
/// Each name has one owner, who makes one call after the other: so there is one change under way at most. What is
/// pinned must be there; anything else may have been evicted, but if it is there it is what was acknowledged.
struct SoakModel: Sendable {
    /// A version of a body, and until when it may be served as fresh, in seconds of the run.
    struct Held: Hashable, Sendable {
        var version: Int
        var freshUntil: Double
    }

    /// What a call wants.
    enum Change: Hashable, Sendable {
        /// That the name holds this.
        case store(Held)
        /// That it holds nothing.
        case remove
        /// That what it holds is fresh until then.
        case retime(Double)
    }

    /// How a call ended.
    enum End: Sendable {
        case done
        /// With an answer that says that it was not done.
        case refused
        /// Without an answer: it may have been done.
        case unknown
    }

    private struct Account {
        var isPinned: Bool
        /// What it may hold.
        var possible: [Held] = []
        /// Whether, though pinned, it may hold nothing.
        var mayBeAbsent = true
        /// The call under way.
        var pending: Change?
        /// What a download brings whose client has left.
        var floating: Held?
        /// What it held before a hit moved its time, and when that was.
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

    /// Clocks are read on two sides, and a second has room for both.
    static let slack = 1.0
    /// Hits are written down within a second, and a busy disk takes its time.
    static let flushLimit = 3.0

    /// A name that holds nothing yet.
    mutating func open(_ name: String, isPinned: Bool) {
        accounts[name] = Account(isPinned: isPinned)
    }

    /// A version that was never used.
    mutating func newVersion() -> Int {
        lastVersion += 1
        return lastVersion
    }

    // MARK: - Changes

    /// A call begins that wants the same of all of these names.
    mutating func begin(_ names: [String], _ change: Change) {
        for name in names { accounts[name]?.pending = change }
    }

    /// It has ended.
    mutating func end(_ names: [String], _ end: End) {
        for name in names {
            guard var account = accounts[name], let change = account.pending else { continue }
            account.pending = nil
            // What comes after a hit is written down after it.
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
                // A download that was running when its name was purged is not kept.
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

    /// An answer says which version the name holds now.
    ///
    /// - Parameters:
    ///   - freshUntil: `nil` when the answer changed nothing about that.
    ///   - slidAt: when it was a hit that changed it, which a kill may undo.
    /// - Returns: what is wrong with it.
    mutating func settle(_ name: String, version: Int, freshUntil: Double?, slidAt: Double? = nil) -> String? {
        guard var account = accounts[name] else { return "\(name) is nobody's" }
        let fitting = account.candidates.filter { $0.version == version }
        guard !fitting.isEmpty else { return "\(name) was given as version \(version), but \(words(account))" }
        account.possible = [
            Held(version: version, freshUntil: freshUntil ?? fitting.map(\.freshUntil).max() ?? 0)
        ]
        // Of several in one second the first one is undone as well.
        let isUndoable = account.beforeSlide.map { (slidAt ?? .infinity) - $0.time < Self.flushLimit } ?? false
        let earlier = isUndoable ? account.beforeSlide?.held ?? [] : []
        account.beforeSlide = slidAt.map { (earlier + fitting, $0) }
        account.mayBeAbsent = false
        account.pending = nil
        if account.floating?.version == version { account.floating = nil }
        accounts[name] = account
        return nil
    }

    /// The client of the call under way leaves, and its download goes on.
    mutating func letGo(_ name: String) {
        guard var account = accounts[name], case .store(let held)? = account.pending else { return }
        account.pending = nil
        // One that was let go before may have been stored by now.
        if let earlier = account.floating { account.possible.append(earlier) }
        account.floating = held
        accounts[name] = account
    }

    /// A hit that nobody was told of may have moved the time of what a name holds, who knows how far.
    mutating func mayHaveSlid(_ name: String) {
        let versions = Set(accounts[name]?.possible.map(\.version) ?? [])
        accounts[name]?.possible += versions.map { Held(version: $0, freshUntil: .infinity) }
    }

    /// The server has gone, and all its downloads with it; and, as it may when it was killed, the hits of its last
    /// second.
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

    /// Whether the call under way is to remove these.
    func isRemoving(_ names: [String]) -> Bool { names.contains { accounts[$0]?.pending == .remove } }

    /// The version that a name holds for sure, unless it was evicted.
    func certainVersion(_ name: String) -> Int? {
        guard let account = accounts[name], account.pending == nil, account.floating == nil else { return nil }
        let versions = Set(account.possible.map(\.version))
        return versions.count == 1 ? versions.first : nil
    }

    /// What is wrong with finding that version under a name, or nothing; `nil` when it is as it may be.
    ///
    /// - Parameter time: when it was asked for as something fresh; `nil`: it need not be fresh.
    func verdict(_ name: String, found version: Int?, at time: Double?) -> String? {
        guard let account = accounts[name] else { return "\(name) is nobody's" }
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
