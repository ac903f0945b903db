import CCurl
import HTTPTypes

/// Cookies within one chain of redirects: a server that sets a cookie and redirects expects it back (RFC 6265 §3).
///
/// libcurl's engine decides which cookie belongs to which host and path, public suffixes included. Its cookies move
/// from hop to hop with the transfer, and end with it: none is kept for another request. Only requests that may be
/// redirected have the engine; their handles are never used again.
extension Transfer {
    /// Gives the handle of the current hop the cookies of the hops before, and the caller's own.
    ///
    /// - Parameter fields: of the request; a `Cookie` among them goes to the engine, which would send a second one.
    func configureCookies(_ handle: EasyHandle, _ fields: inout HTTPFields) {
        // An empty file name turns the engine on.
        handle.set(CURLOPT_COOKIEFILE, "")
        for cookie in cookies { handle.set(CURLOPT_COOKIELIST, cookie) }
        if let own = fields[.cookie] {
            handle.set(CURLOPT_COOKIE, own)
            fields[.cookie] = nil
        }
    }

    /// Takes over the cookies that are known after the current hop.
    func keepCookies() {
        guard !isFTP, request.mayBeRedirected, let handle else { return }
        cookies = handle.cookies
    }
}
