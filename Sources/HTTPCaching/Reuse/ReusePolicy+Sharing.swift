extension ReusePolicy {
    /// Whether a request may use the answer to another request in flight (RFC 9111 §4: "collapse requests"). A request
    /// that demands an answer of its own may not (§5.2.1.1, §5.2.1.4, §5.2.1.5).
    package static func acceptsSharing(_ request: CacheRequest) -> Bool {
        let directives = RequestDirectives(request.fields)
        return !directives.noCache && !directives.noStore && directives.accepts(age: .zero)
    }
}
