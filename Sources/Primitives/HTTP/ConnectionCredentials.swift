/// Schemes that authenticate a connection, with all later requests on it: NTLM (MS-NTHT §1.3), Negotiate (RFC 4559 §6)
/// and others. Only the caller that such a connection authenticates may send requests over it and get its responses.
package enum ConnectionCredentials {
    private static let schemes: Set<String> = ["ntlm", "negotiate", "kerberos", "nego2", "credssp", "pku2u"]

    /// Whether `Authorization` or `WWW-Authenticate` names one of the schemes, at any place in a list of challenges.
    package static func areNamed(in value: String) -> Bool {
        value.split { $0 == "," || $0 == " " || $0 == "\t" }.contains { schemes.contains($0.lowercased()) }
    }
}
