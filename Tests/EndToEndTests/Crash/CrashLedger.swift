import Primitives

/// The content that each name may hold after a crash: the content after the last acknowledged call, or the content
/// after the call under way.
///
/// The ledger checks each name separately, because a crash may interrupt a call with many names, such as a purge, when
/// the server has changed the entries of only some names.
final class CrashLedger: Sendable {
    /// The content of a name.
    struct Content: Equatable {
        /// The version of the body.
        var version: Int
        /// The last ttl, set with the body or by a PATCH. No ttl is used twice.
        var ttl: Int
    }

    struct Account {
        /// The content after the last acknowledged call; `nil` for no content.
        var acknowledged: Content?
        /// The content after the call under way; `nil` when no call is under way.
        var pending: Content??
    }

    private let accounts = Locked<[String: Account]>([:])
    private let lastVersion = Locked(0)

    /// A new, unused version.
    func newVersion() -> Int {
        lastVersion.withLock { version in
            version += 1
            return version
        }
    }

    /// Begins a call that leaves this content in all these names.
    func begin(_ names: [String], _ content: Content?) {
        accounts.withLock { accounts in
            for name in names { accounts[name, default: Account()].pending = .some(content) }
        }
    }

    /// Records that the call was acknowledged.
    func acknowledge(_ names: [String]) {
        accounts.withLock { accounts in
            for name in names {
                guard let pending = accounts[name]?.pending else { continue }
                accounts[name] = Account(acknowledged: pending)
            }
        }
    }

    /// The content of a name after the last acknowledged call; `nil` for no content.
    func content(_ name: String) -> Content? { accounts.withLock { $0[name]?.acknowledged } }

    /// The version that the call under way stores under this name; `nil` when it stores no version.
    func pendingVersion(_ name: String) -> Int? {
        accounts.withLock { ($0[name]?.pending ?? nil)?.version }
    }

    /// All names that were ever used.
    var names: [String] { accounts.withLock { $0.keys.sorted() } }

    /// Compares the content of a name after a restart with the ledger, and records the found content as acknowledged.
    ///
    /// - Returns: `nil` when the content is one of the two possible contents; otherwise a description of the error.
    func settle(_ name: String, found: Content?) -> String? {
        accounts.withLock { accounts in
            guard let account = accounts[name] else { return "\(name) was never used" }
            accounts[name] = Account(acknowledged: found)
            if found == account.acknowledged { return nil }
            if let pending = account.pending, found == pending { return nil }
            return "\(name) holds \(String(describing: found)), but the ledger permits only \(account)"
        }
    }
}
