import Primitives

/// What each name may hold after a crash: what was acknowledged last, or what the call that was under way wanted.
///
/// A call that means many names, as a purge does, may have come as far as any of them: each is settled on its own.
final class CrashLedger: Sendable {
    /// What a name holds.
    struct Content: Equatable {
        /// The version of its body.
        var version: Int
        /// The ttl that it was given last, with its body or by a change; never the same twice.
        var ttl: Int
    }

    struct Account {
        /// What the last acknowledged call left; `nil` when nothing.
        var acknowledged: Content?
        /// What the call under way would leave; `nil` when none is.
        var pending: Content??
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

    /// A call is about to be made that leaves this in all of these names.
    func begin(_ names: [String], _ content: Content?) {
        accounts.withLock { accounts in
            for name in names { accounts[name, default: Account()].pending = .some(content) }
        }
    }

    /// It was acknowledged.
    func acknowledge(_ names: [String]) {
        accounts.withLock { accounts in
            for name in names {
                guard let pending = accounts[name]?.pending else { continue }
                accounts[name] = Account(acknowledged: pending)
            }
        }
    }

    /// What the last acknowledged call left under a name; `nil` when nothing.
    func content(_ name: String) -> Content? { accounts.withLock { $0[name]?.acknowledged } }

    /// The version that a download of this name is to bring, or is bringing.
    func pendingVersion(_ name: String) -> Int? {
        accounts.withLock { ($0[name]?.pending ?? nil)?.version }
    }

    /// All names ever used.
    var names: [String] { accounts.withLock { $0.keys.sorted() } }

    /// Compares with what a name holds after a restart, and takes that as the truth from now on.
    ///
    /// - Returns: `nil` when it is one of the two that may be; else what is wrong.
    func settle(_ name: String, found: Content?) -> String? {
        accounts.withLock { accounts in
            guard let account = accounts[name] else { return "\(name) was never used" }
            accounts[name] = Account(acknowledged: found)
            if found == account.acknowledged { return nil }
            if let pending = account.pending, found == pending { return nil }
            return "\(name) holds \(String(describing: found)), but \(account) was all that it may hold"
        }
    }
}
