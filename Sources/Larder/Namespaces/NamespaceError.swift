import DiskCache

/// The reason why a namespace cannot be created, changed or removed.
public enum NamespaceError: Error, Hashable, Sendable {
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
    public enum RegistryRefusal: Hashable, Sendable {
        /// A newer version of Larder has written the file.
        case newer(file: String)
        /// The file is missing, damaged or not readable. `others` lists its spare file and the directories with an
        /// index, because some of these directories may hold purged entries.
        case unreadable(file: String, reason: String, others: [String])
    }
}

extension NamespaceError: CustomStringConvertible {
    /// A sentence that names the remedy.
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
    /// A sentence that names the remedy.
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
