extension DownloadError: CustomStringConvertible {
    /// A sentence for the caller and the operator. The words of a transfer's failure are libcurl's.
    public var description: String {
        switch self {
        case .schemeRefused(let scheme): "the scheme \"\(scheme)\" is not allowed; --schemes can add it"
        case .addressRefused(let rule):
            "the origin may not be asked: \(rule); see --allow-origin, --deny-origin and --origin-ports"
        case .originStatus(let status, _): "the origin answered with status \(status)"
        case .connectionAuthentication:
            "the origin authenticates the connection (NTLM, Negotiate), so its answer is for one client and is not kept"
        case .transferFailed(_, let words), .timedOut(_, let words): words
        case .tooLarge(_, let limit): "the body is longer than \(limit) bytes, the most that an entry may have"
        case .cancelled: "the download was cancelled"
        case .noSpace: "there is no room: the disk is full, or a limit is reached and what is there is pinned or in use"
        case .storage(let words): "the entry could not be stored: \(words)"
        case .tooManyTags(let limit): "an entry may have \(limit) tags"
        case .busy: "as many downloads run or wait already as may; ask again later"
        case .keyInUse: "something else with the same MD5 is being downloaded; ask again later"
        case .stopping: "the server is stopping"
        }
    }
}
