/// Authentication schemes that authenticate the whole connection, and with it every later request on it, instead of
/// only the request that carries the credentials: NTLM (MS-NTHT §1.3), Negotiate (RFC 4559 §6) and similar schemes.
///
/// A connection that has used such a scheme must not carry requests of another caller. A response on that connection
/// may be meant for one caller only, even when its fields allow more.
package enum ConnectionCredentials {
    private static let schemes: Set<String> = ["ntlm", "negotiate", "kerberos", "nego2", "credssp", "pku2u"]

    /// Whether the value of `Authorization` or `WWW-Authenticate` names such a scheme, at any place in a list of
    /// challenges.
    package static func areNamed(in value: String) -> Bool {
        value.split { $0 == "," || $0 == " " || $0 == "\t" }.contains { schemes.contains($0.lowercased()) }
    }
}
