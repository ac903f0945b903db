extension OriginClient {
    /// The reason why the client would refuse a request, as far as the URL decides; `nil` when only DNS, the origin or
    /// a redirect can lead to a refusal.
    ///
    /// The call uses neither DNS nor the network. The error is the same as that of ``fetch(_:receiver:)``, with one
    /// exception: when the port of a host name is refused for every address, `fetch` may report a reason that only the
    /// address reveals.
    package func foreseenRefusal(of request: OriginRequest) -> OriginError? {
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
