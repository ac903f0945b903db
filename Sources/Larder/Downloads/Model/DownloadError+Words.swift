extension DownloadError: CustomStringConvertible {
    /// A sentence for the caller and the operator. The words of a transfer's failure are libcurl's.
    package var description: String {
        switch self {
        case .schemeRefused(let scheme):
            "the scheme \"\(scheme)\" is not allowed; start the server with --schemes to add it"
        case .addressRefused(let rule):
            "the origin is not allowed: \(rule); see --allow-origin, --deny-origin and --origin-ports"
        case .originStatus(let status, _): "the origin answered with status \(status)"
        case .connectionAuthentication:
            "the origin authenticates the connection (NTLM, Negotiate), so its answer is for one client and is not "
                + "stored"
        case .transferFailed(_, let words), .timedOut(_, let words): words
        case .tooLarge(_, let limit): "the body is longer than \(limit) bytes, the limit for one entry (--entry-limit)"
        case .cancelled: "the download was cancelled"
        case .noSpace: "no room: the disk is full, or a limit is reached and the entries are pinned or in use"
        case .storage(let words): "the entry could not be stored: \(words)"
        case .tooManyTags(let limit): "the entry has too many tags; the limit is \(limit)"
        case .busy: "the limit of running and waiting downloads is reached; retry later"
        case .keyInUse: "another URL with the same MD5 is being downloaded; retry later"
        case .stopping: "the server is stopping"
        }
    }
}
