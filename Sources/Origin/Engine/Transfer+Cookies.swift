import CCurl
import HTTPTypes

/// Cookies within one chain of redirects: a server that sets a cookie and redirects expects it back (RFC 6265 §3).
///
/// libcurl's engine decides which cookie belongs to which path. Its cookies move from hop to hop with the transfer,
/// and end with it: none is kept for another request. Only requests that may be redirected have the engine; their
/// handles are never used again.
///
/// A cookie goes back to the origin that set it and to no other, which is stricter than RFC 6265 §8.5 and §8.6: there
/// all ports of a host, and with `Domain` all hosts of a domain, share cookies.
extension Transfer {
    /// Gives the handle of the current hop the cookies of the hops before, and the caller's own.
    ///
    /// - Parameter fields: of the request; a `Cookie` among them goes to the engine, which would send a second one.
    func configureCookies(_ handle: EasyHandle, _ fields: inout HTTPFields) {
        // An empty file name turns the engine on.
        handle.set(CURLOPT_COOKIEFILE, "")
        for cookie in cookies[url.origin] ?? [] { handle.set(CURLOPT_COOKIELIST, bytes: cookie) }
        if let own = fields[fields: .cookie].first {
            handle.set(CURLOPT_COOKIE, bytes: own.withUnsafeBytesOfValue { $0.map(CChar.init(bitPattern:)) } + [0])
            fields[.cookie] = nil
        }
    }

    /// Takes over the cookies that are known after the current hop.
    func keepCookies() {
        guard !isFTP, request.mayBeRedirected, let handle else { return }
        cookies[url.origin] = handle.cookies
    }
}
