import CCurl
import HTTPTypes

/// Cookies within a chain of redirects: a server that sets a cookie and redirects expects the cookie back (RFC 6265
/// §3).
///
/// libcurl's engine decides which cookie belongs to which path. The transfer carries the engine's cookies from hop to
/// hop, and drops them at its end, so no other request gets them. Only requests that may be redirected have the engine;
/// their handles are never reused.
///
/// A cookie goes back only to the origin that set it. This is stricter than RFC 6265 §8.5 and §8.6, where all ports of
/// a host, and with `Domain` all hosts of a domain, share cookies.
extension Transfer {
    /// Gives the handle of the current hop the cookies of the earlier hops, and the cookie of the caller.
    ///
    /// - Parameter fields: the fields of the request. Their `Cookie` moves to the engine, which would otherwise send a
    ///   second `Cookie` field.
    func configureCookies(_ handle: EasyHandle, _ fields: inout HTTPFields) {
        // An empty file name turns the engine on.
        handle.set(CURLOPT_COOKIEFILE, "")
        for cookie in cookies[url.origin] ?? [] { handle.set(CURLOPT_COOKIELIST, bytes: cookie) }
        if let own = fields[fields: .cookie].first {
            handle.set(CURLOPT_COOKIE, bytes: own.withUnsafeBytesOfValue { $0.map(CChar.init(bitPattern:)) } + [0])
            fields[.cookie] = nil
        }
    }

    /// Saves the cookies that the engine has after the current hop.
    func keepCookies() {
        guard !isFTP, request.mayBeRedirected, let handle else { return }
        cookies[url.origin] = handle.cookies
    }
}
