extension OriginClient {
    /// Why a request would be refused, as far as its URL says it; `nil` when only DNS, the origin or a redirect could.
    ///
    /// Neither DNS nor the network is asked. The words are those of ``fetch(_:receiver:)``; of a name that is refused
    /// on its port whatever its addresses are, those may be another reason, which `fetch` would name instead.
    public func foreseenRefusal(of request: OriginRequest) -> OriginError? {
        var known = KnownURLs()
        do throws(OriginError) {
            let url = try request.checkedURL(configuration, known: &known)
            let policy = request.addressPolicy ?? configuration.addressPolicy
            let rule: String?
            if let address = url.address {
                rule =
                    configuration.ownSockets.refusal(of: address, port: url.port)
                    ?? policy.refusal(of: address, port: url.port, host: url.host)
            } else {
                rule = policy.refusal(ofAnyAddressOf: url.host, port: url.port)
            }
            return rule.map { OriginError(.addressRefused(rule: $0)) }
        } catch {
            return error
        }
    }
}
