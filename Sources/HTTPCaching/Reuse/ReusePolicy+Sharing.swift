extension ReusePolicy {
    /// Whether a request may wait for, and then have, an answer that another request has asked for already (RFC 9111
    /// §4: "collapse requests"): it does not ask for one that is made for itself (§5.2.1.1, §5.2.1.4, §5.2.1.5).
    public static func acceptsSharing(_ request: CacheRequest) -> Bool {
        let directives = RequestDirectives(request.fields)
        return !directives.noCache && !directives.noStore && directives.accepts(age: .zero)
    }
}
