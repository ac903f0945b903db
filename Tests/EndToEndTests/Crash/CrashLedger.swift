import Primitives

/// What each name may hold after a crash: what was acknowledged last, or what the call that was under way wanted.
final class CrashLedger: Sendable {
    /// What a name holds: a version of its body, or nothing.
    typealias Content = Int?

    struct Account {
        /// What the last acknowledged call left.
        var acknowledged: Content
        /// What the call under way would leave; `nil` when none is.
        var pending: Content?
    }

    private let accounts = Locked<[String: Account]>([:])
    private let lastVersion = Locked(0)

    /// A version that was never used.
    func newVersion() -> Int {
        lastVersion.withLock { version in
            version += 1
            return version
        }
    }

    /// A call is about to be made.
    func begin(_ name: String, _ content: Content) {
        accounts.withLock { $0[name, default: Account(acknowledged: nil)].pending = .some(content) }
    }

    /// It was acknowledged.
    func acknowledge(_ name: String) {
        accounts.withLock { accounts in
            guard let pending = accounts[name]?.pending else { return }
            accounts[name] = Account(acknowledged: pending, pending: nil)
        }
    }

    /// The version that a download of this name is to bring, or is bringing.
    func pendingVersion(_ name: String) -> Int? {
        accounts.withLock { $0[name]?.pending ?? nil }
    }

    /// All names ever used.
    var names: [String] { accounts.withLock { $0.keys.sorted() } }

    /// Compares with what a name holds after a restart, and takes that as the truth from now on.
    ///
    /// - Returns: `nil` when it is one of the two that may be; else what is wrong.
    func settle(_ name: String, found: Content) -> String? {
        accounts.withLock { accounts in
            guard let account = accounts[name] else { return "\(name) was never used" }
            accounts[name] = Account(acknowledged: found, pending: nil)
            if found == account.acknowledged { return nil }
            if let pending = account.pending, found == pending { return nil }
            return "\(name) holds \(String(describing: found)), but \(account) was all that it may hold"
        }
    }
}
