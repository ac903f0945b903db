import DiskCache

package enum NamespaceError: Error, Hashable, Sendable {
    case invalidName(String)
    case unknown(String)
    case tooMany(limit: Int)
    case isDefault
    /// The namespace may get at most `left` bytes.
    case overLimit(of: String, left: Int64)
    case pinned(namespace: String)
    case layoutNeedsVersion
    case notAllowed(NamespaceAuthority)
    /// Too many retired namespaces with this name are still in use.
    case busy
    case conditionFailed
    case stopping
    case cache(DiskCacheError)
    case registry(reason: String)
    /// A newer version of Larder wrote the registry. The server does not start, and the cache directory is unchanged.
    case newerRegistry(file: String)
    /// The registry is lost or unreadable. The effect is that of ``newerRegistry(file:)``. `others`: the spare file and
    /// the directories with an index, because some may hold purged entries.
    case unreadableRegistry(file: String, reason: String, others: [String])
}

extension NamespaceError: CustomStringConvertible {
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
        case .newerRegistry(let file):
            "\(file) was written by a newer Larder; start that version, or choose another --directory"
        case .unreadableRegistry(let file, let reason, let others):
            "cannot read the list of namespaces in \(file): \(reason). Nothing was changed. Repair the file, or "
                + "restore it from a backup; to start with an empty cache, choose another --directory"
                + (others.isEmpty
                    ? "" : " or move the file away together with \(others.joined(separator: ", "))")
        }
    }
}
