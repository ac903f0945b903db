import DiskCache

/// The reason why a namespace cannot be created, changed or removed.
package enum NamespaceError: Error, Hashable, Sendable {
    /// The name is not 1 to 63 of `a` to `z`, `0` to `9` and `-`.
    case invalidName(String)
    /// No namespace has this name.
    case unknown(String)
    /// The highest number of namespaces is reached.
    case tooMany(limit: Int)
    /// The default namespace cannot be removed and has no limits of its own: it gets the space that the others leave.
    case isDefault
    /// All namespaces together would exceed nine tenths of a limit of the server. `left` is the number of bytes that
    /// this namespace may get.
    case overLimit(of: String, left: Int64)
    /// The pinned entries of a namespace exceed its new limit.
    case pinned(namespace: String)
    /// The layout of existing entries cannot change. A new version begins the namespace anew.
    case layoutNeedsVersion
    /// The caller lacks this authority.
    case notAllowed(NamespaceAuthority)
    /// Too many retired namespaces with this name are still in use.
    case busy
    /// The condition of the change does not hold.
    case conditionFailed
    /// The server is stopping.
    case stopping
    /// The directory of the namespace cannot be used.
    case cache(DiskCacheError)
    /// The registry file cannot be written.
    case registry(reason: String)
    /// The registry file cannot be used, so the server does not start.
    case registryRefused(RegistryRefusal)

    /// The reason why the registry file cannot be used. The cache directory has not been changed.
    package enum RegistryRefusal: Hashable, Sendable {
        /// A newer version of Larder has written the file.
        case newer(file: String)
        /// The file is missing, damaged or not readable. `others` lists its spare file and the directories with an
        /// index, because some of these directories may hold purged entries.
        case unreadable(file: String, reason: String, others: [String])
    }
}

extension NamespaceError: CustomStringConvertible {
    /// A sentence that names the remedy.
    package var description: String {
        switch self {
        case .invalidName(let name): DiskCacheError.invalidNamespace(name).description
        case .unknown(let name) where !NamespaceName.isValid(name):
            DiskCacheError.invalidNamespace(name).description
        case .unknown(let name): "namespace \"\(name)\" does not exist; PUT /namespaces/\(name) creates it"
        case .tooMany(let limit): "the limit of \(limit) namespaces is reached; remove one first"
        case .isDefault:
            "the default namespace cannot be removed and has no limits of its own; it has the remainder of the "
                + "server's limits"
        case .overLimit(let limit, let left):
            "the limits of all namespaces together must not exceed nine tenths of \(limit), of which \(left) bytes "
                + "are left"
        case .pinned(let name):
            "the pinned entries of namespace \(name) need more than the space that would remain for it; unpin "
                + "entries first"
        case .layoutNeedsVersion:
            "the layout of a namespace changes only together with its version; send a new version, which clears the "
                + "namespace"
        case .notAllowed(.operator):
            "creating or removing a namespace, and changing its limits and origins, needs the scope admin for the "
                + "default namespace"
        case .notAllowed: "changing a namespace, except its version, needs the scope admin"
        case .busy: "too many removed or cleared namespaces are still in use; retry later"
        case .conditionFailed: "the condition does not hold"
        case .stopping: "the server is stopping"
        case .cache(let error): error.description
        case .registry(let reason): "cannot write the list of namespaces: \(reason)"
        case .registryRefused(let refusal): refusal.description
        }
    }
}

extension NamespaceError.RegistryRefusal: CustomStringConvertible {
    /// A sentence that names the remedy.
    package var description: String {
        switch self {
        case .newer(let file):
            "\(file) was written by a newer Larder; start that version, or choose another --directory"
        case .unreadable(let file, let reason, let others):
            "cannot read the list of namespaces in \(file): \(reason). Nothing was changed. Repair the file, or "
                + "restore it from a backup; to start with an empty cache, choose another --directory"
                + (others.isEmpty
                    ? "" : " or move the file away together with \(others.joined(separator: ", "))")
        }
    }
}
