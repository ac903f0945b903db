import DiskCache

/// Why a namespace is not made, changed or removed.
public enum NamespaceError: Error, Hashable, Sendable {
    /// It is not 1 to 63 of `a` to `z`, `0` to `9` and `-`.
    case invalidName(String)
    /// There is none of that name.
    case unknown(String)
    /// There are as many as there may be.
    case tooMany(limit: Int)
    /// The default namespace is always there, and has what the others leave.
    case isDefault
    /// All together would have more than nine tenths of what the server may take.
    case overLimit(of: String, left: Int64)
    /// What is pinned in a namespace takes more than it is to have.
    case pinned(namespace: String)
    /// The layout of what is there cannot change; with another version it is begun anew.
    case layoutNeedsVersion
    /// Who asks may not do this; who has this authority may.
    case notAllowed(NamespaceAuthority)
    /// Too many have ended and still are used.
    case busy
    /// The condition of the change did not hold.
    case conditionFailed
    /// The server stops.
    case stopping
    /// Its directory cannot be used.
    case cache(DiskCacheError)
    /// The file in which namespaces are written down cannot be written.
    case registry(reason: String)
    /// The file in which namespaces are written down cannot be used, so the server does not start.
    case registryRefused(RegistryRefusal)

    /// Why the file in which namespaces are written down cannot be used. Nothing in the cache directory was changed.
    public enum RegistryRefusal: Hashable, Sendable {
        /// A newer Larder wrote it.
        case newer(file: String)
        /// It is missing, damaged, or may not be read. `others` are its spare file and the directories beside it that
        /// have an index, for which of them hold purged entries is not known.
        case unreadable(file: String, reason: String, others: [String])
    }
}

extension NamespaceError: CustomStringConvertible {
    /// A sentence that says what to do.
    public var description: String {
        switch self {
        case .invalidName(let name): DiskCacheError.invalidNamespace(name).description
        case .unknown(let name) where !CacheDirectory.isNamespace(name):
            DiskCacheError.invalidNamespace(name).description
        case .unknown(let name): "there is no namespace \"\(name)\"; PUT /namespaces/\(name) makes it"
        case .tooMany(let limit): "there are \(limit) namespaces already; remove one first"
        case .isDefault: "the default namespace is always there, and has what the others leave of the limits"
        case .overLimit(let limit, let left):
            "the namespaces may have nine tenths of \(limit) together, of which \(left) bytes are left"
        case .pinned(let name): "what is pinned in \(name) takes more than would be left to it"
        case .layoutNeedsVersion: "the layout of a namespace changes only with its version, when it is begun anew"
        case .notAllowed(.operator):
            "to make or remove a namespace, and to change its limits and origins, takes the scope admin for the default "
                + "namespace"
        case .notAllowed: "to change more of a namespace than its version takes the scope admin"
        case .busy: "too many namespaces that were removed or begun anew are still in use; ask again"
        case .conditionFailed: "the condition does not hold"
        case .stopping: "the server is stopping"
        case .cache(let error): error.description
        case .registry(let reason): "the namespaces could not be written down: \(reason)"
        case .registryRefused(let refusal): refusal.description
        }
    }
}

extension NamespaceError.RegistryRefusal: CustomStringConvertible {
    /// A sentence that says what to do.
    public var description: String {
        switch self {
        case .newer(let file):
            "\(file) was written by a newer Larder: start that one, or another --directory"
        case .unreadable(let file, let reason, let others):
            "\(file), which says which namespaces there are, cannot be read: \(reason). Nothing was changed. Put it right, "
                + "or bring it back from a backup; to begin with an empty cache, choose another --directory"
                + (others.isEmpty
                    ? "" : " or move it away together with \(others.joined(separator: ", "))")
        }
    }
}
