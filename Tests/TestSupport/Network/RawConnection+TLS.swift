import Foundation

extension RawConnection {
    /// A connection over TLS, made by the `openssl` command. Bytes are in the clear on this side, and encrypted on the
    /// server's. The initialiser does not wait for the handshake; when the handshake fails, the connection ends.
    ///
    /// - Parameters:
    ///   - port: a port of this machine.
    ///   - authority: the authority that must have signed the server's certificate, for `127.0.0.1`.
    ///   - certificate: the certificate that the client presents when it is asked; none by default.
    ///   - arguments: further arguments of `openssl s_client`, such as `-tls1_2`.
    ///
    /// Throws ``SystemError`` when the command cannot be started.
    package convenience init(
        port: UInt16, authority: TestAuthority, certificate: TestAuthority.Certificate? = nil,
        arguments: [String] = [], limit: Duration = Gate.defaultLimit
    ) throws {
        var pair: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw SystemError("socketpair") }
        let stream = SocketStream(descriptor: pair[0], limit: limit)
        let output = fcntl(pair[1], F_DUPFD_CLOEXEC, 0)
        defer {
            Foundation.close(pair[1])
            Foundation.close(output)
        }
        let shown = certificate.map { ["-cert", $0.certificateFile, "-key", $0.keyFile] } ?? []
        let process = try ChildProcess(
            "openssl",
            [
                // `-no_ign_eof` closes the connection at the end of the input. `-nocommands` sends each letter of the
                // input as data.
                "s_client", "-quiet", "-no_ign_eof", "-nocommands", "-connect", "127.0.0.1:\(port)",
                "-CAfile", authority.certificateFile, "-verify_return_error", "-verify_ip", "127.0.0.1",
            ] + shown + arguments, inheriting: [pair[1]: 0, output: 1])
        self.init(stream, keeping: process)
    }

    /// The serial number, in lower-case hexadecimal, of the certificate that a server presents to a new client; `nil`
    /// when it presents none. Throws ``SystemError`` when `openssl` cannot be started.
    package static func certificateSerialNumber(port: UInt16) throws -> String? {
        let script = "openssl s_client -connect 127.0.0.1:$0 < /dev/null 2> /dev/null | openssl x509 -noout -serial"
        let output = try ChildProcess.run("/bin/sh", ["-c", script, "\(port)"])
        guard output.exit == .status(0), let equals = output.text.firstIndex(of: "=") else { return nil }
        let digits = output.text[output.text.index(after: equals)...]
        return digits.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    }
}
