/// Options for TLS with callers.
extension Setting {
    /// See ``Configuration/tlsCertificate``.
    public static let tlsCertificate = Setting(
        "tls-certificate", "FILE", default: "none",
        "Speak TLS with this certificate (PEM), behind it those that lead to its authority; read anew on SIGHUP. Needs "
            + "--tls-key."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.tlsCertificate = try path(text)
    }

    /// See ``Configuration/tlsKey``.
    public static let tlsKey = Setting(
        "tls-key", "FILE", default: "none",
        "The private key (PEM, without a passphrase) of --tls-certificate; read anew on SIGHUP."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.tlsKey = try path(text)
    }

    /// See ``Configuration/tlsClientAuthority``.
    public static let tlsClientCA = Setting(
        "tls-client-ca", "FILE", default: "none",
        "Certificate authorities (PEM), one of which must have signed the certificate that a caller has to show; read "
            + "anew on SIGHUP."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.tlsClientAuthority = try path(text)
    }

    private static func path(_ text: String) throws(SettingValueError) -> String {
        guard !text.isEmpty else { throw SettingValueError("a path") }
        return text
    }
}

extension Configuration {
    /// Throws an error when the files for TLS are only partly set.
    public func checkTLS() throws(ConfigurationError) {
        if tlsCertificate != nil, tlsKey == nil {
            throw ConfigurationError(
                description: "--tls-certificate needs its private key: name the file with --tls-key FILE")
        }
        if tlsKey != nil, tlsCertificate == nil {
            throw ConfigurationError(
                description: "--tls-key needs the certificate it is for: name the file with --tls-certificate FILE")
        }
        if tlsClientAuthority != nil, tlsCertificate == nil {
            throw ConfigurationError(
                description: "--tls-client-ca needs TLS: give --tls-certificate FILE and --tls-key FILE, too")
        }
    }
}
