extension Setting {
    package static let tlsCertificate = Setting(
        "tls-certificate", "FILE", default: "none",
        "Certificate (PEM) to serve TLS with, followed by its intermediate certificates. Needs --tls-key. Reloaded "
            + "on SIGHUP.", \.tlsCertificate, path)

    package static let tlsKey = Setting(
        "tls-key", "FILE", default: "none",
        "Private key (PEM, without a passphrase) of --tls-certificate. Reloaded on SIGHUP.", \.tlsKey, path)

    package static let tlsClientCA = Setting(
        "tls-client-ca", "FILE", default: "none",
        "Certificate authorities (PEM) for client certificates; every client then needs a certificate signed by one "
            + "of them. Reloaded on SIGHUP.", \.tlsClientAuthority, path)
}

extension Configuration {
    package func checkTLS() throws(ConfigurationError) {
        if tlsCertificate != nil, tlsKey == nil {
            throw ConfigurationError(
                description: "--tls-certificate needs its private key; add --tls-key FILE")
        }
        if tlsKey != nil, tlsCertificate == nil {
            throw ConfigurationError(
                description: "--tls-key needs its certificate; add --tls-certificate FILE")
        }
        if tlsClientAuthority != nil, tlsCertificate == nil {
            throw ConfigurationError(
                description: "--tls-client-ca needs TLS; add --tls-certificate FILE and --tls-key FILE")
        }
    }
}
