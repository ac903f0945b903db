import Larder
import MicroHTTPD
import Primitives

/// Keeps web pages from driving a server that asks for no token: their requests come from the user's own browser, which
/// may reach what the page's site cannot.
///
/// A page says where it comes from in `Origin` and `Sec-Fetch-Site`, which scripts cannot set. One whose name was made
/// to lead here (DNS rebinding) passes for this server's own; it is known by the host that it asks for.
struct WebGuard: Sendable {
    /// The names that this server is asked by, in lower case, beside `localhost` and addresses; `nil`: any.
    let hosts: Set<String>?
    /// The origins (`https://app.example`) whose pages may ask; with `*` all.
    let origins: Set<String>

    /// Whether the server is meant by a host, with or without a port.
    func isMeant(by host: UnsafeRawBufferPointer) -> Bool {
        guard hosts != nil else { return true }
        var length = 0
        var (isAddress, hasDigit) = (true, false)
        // By hand: it is asked about each hit.
        while length < host.count, host[length] != UInt8(ascii: ":") {
            let byte = host[length]
            // An address leads nowhere else, whatever a name server says.
            if byte == UInt8(ascii: "["), length == 0 { return host.isBracketed }
            let isDigit = byte >= 0x30 && byte <= 0x39
            hasDigit = hasDigit || isDigit
            if !isDigit, byte != UInt8(ascii: ".") { isAddress = false }
            length += 1
        }
        if length == 0 || isAddress { return hasDigit }
        return isKnown(UnsafeRawBufferPointer(rebasing: host[..<length]))
    }

    private func isKnown(_ name: UnsafeRawBufferPointer) -> Bool {
        let text = RawField(name: name, value: name)
        return text.isNamed("localhost") || hosts?.contains { text.isNamed(Array($0.utf8)) } ?? true
    }

    /// Whether a page of that origin may ask, and read the answer.
    func allows(origin: String) -> Bool {
        origins.contains("*") || origins.contains(origin)
    }

    /// Why a request is not answered; `nil` when it is.
    ///
    /// - Parameter isReading: whether it asks for what is held, and for nothing to be done: a link may lead there.
    func refusal(of request: Request, isReading: Bool) -> Problem? {
        // Without one it is no browser's.
        var host = request.host ?? "localhost"
        if !host.withUTF8({ isMeant(by: UnsafeRawBufferPointer($0)) }) {
            return Problem(
                status: 421, detail: "this server is not asked as \"\(host)\"; --allow-host can allow it")
        }
        if let origin = request.field("Origin") {
            if allows(origin: origin) { return nil }
            let isOwn = origin == "http://\(host)" || origin == "https://\(host)"
            if isOwn, !isElsewhere(request) { return nil }
            return Problem(
                status: 403,
                detail: "a page of \(origin) may not ask; --cors-origin can allow it, tokens make it needless")
        }
        guard isElsewhere(request) else { return nil }
        let isLink = request.field("Sec-Fetch-Mode") == "navigate" && request.field("Sec-Fetch-Dest") == "document"
        if isReading, isLink { return nil }
        return Problem(status: 403, detail: "a page of another site may not ask for this; open it by its address")
    }

    /// Whether a browser says that the request comes from a page of another site, or of another port of this machine.
    private func isElsewhere(_ request: Request) -> Bool {
        guard let site = request.field("Sec-Fetch-Site")?.lowercased() else { return false }
        return site != "none" && site != "same-origin"
    }
}

extension UnsafeRawBufferPointer {
    /// Whether it is an IPv6 address in brackets, with or without a port.
    fileprivate var isBracketed: Bool {
        let address = dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return !address.isEmpty && address.count + 1 < count
            && address.allSatisfy { $0.hexDigitValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
    }
}
