/// Authentication schemes that authenticate a connection, and with it every request that follows on it, instead of the
/// one request that carries the credentials: NTLM (MS-NTHT §1.3), Negotiate (RFC 4559 §6) and their kin.
///
/// A connection that has seen one of them must not carry another caller's requests, and an answer that came over it may
/// be for one caller only, also when its fields allow more.
public enum ConnectionCredentials {
    private static let schemes: Set<String> = ["ntlm", "negotiate", "kerberos", "nego2", "credssp", "pku2u"]

    /// Whether the value of `Authorization` or `WWW-Authenticate` names such a scheme. A challenge may stand anywhere
    /// in a list of them.
    public static func areNamed(in value: String) -> Bool {
        value.split { $0 == "," || $0 == " " || $0 == "\t" }.contains { schemes.contains($0.lowercased()) }
    }
}
