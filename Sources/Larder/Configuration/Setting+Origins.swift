import Foundation
import Origin
import Primitives

extension Setting {
    package static let allowOrigin = Setting(
        "allow-origin", "RULE", default: "none",
        "Address, CIDR range or host (*.example.com for its subdomains; with :PORT, or for any port) to allow as "
            + "origin although it is not globally routable or has another port. Repeatable.",
        list: \.allowedOrigins
    ) { (texts) throws(SettingValueError) in
        let rules = try rules(texts)
        guard !rules.contains(where: { $0.target == .everything }) else {
            throw SettingValueError(
                "a rule narrower than *: use --origin-ports for ports, or 0.0.0.0/0 and ::/0 for all addresses")
        }
        return rules
    }

    package static let denyOrigin = Setting(
        "deny-origin", "RULE", default: "none",
        "Address, CIDR range or host (with :PORT, or for any port) to refuse as origin, even if --allow-origin "
            + "allows it; * refuses all origins that --allow-origin does not allow. Repeatable.",
        list: \.deniedOrigins
    ) { (texts) throws(SettingValueError) in try rules(texts) }

    package static let originPorts = Setting(
        "origin-ports", "LIST", default: "80,443",
        "Allowed ports of origins; ftp adds 21. --allow-origin can add others for one origin.",
        list: \.originPorts
    ) { (texts) throws(SettingValueError) in
        var ports: Set<UInt16> = []
        for text in texts {
            guard let port = UInt16(text), port > 0 else { throw SettingValueError("numbers from 1 to 65535") }
            ports.insert(port)
        }
        return ports
    }

    package static let originCA = Setting(
        "origin-ca", "FILE", default: "none",
        "Certificate authorities (PEM) to trust for https origins, in addition to the system's.",
        \.originAuthority
    ) { (text) throws(SettingValueError) in
        guard let file = try? String(contentsOfFile: text, encoding: .utf8),
            file.contains("-----BEGIN CERTIFICATE-----")
        else { throw SettingValueError("a readable file with certificates in PEM") }
        return text
    }

    package static let schemes = Setting(
        "schemes", "LIST", default: "http,https", "URL schemes to allow for downloads, of http, https and ftp.",
        list: \.schemes
    ) { (texts) throws(SettingValueError) in
        let schemes = Set(texts.map { $0.lowercased() })
        guard !schemes.isEmpty, schemes.isSubset(of: CanonicalURL.schemes) else {
            throw SettingValueError("one or more of http, https, ftp")
        }
        return schemes
    }

    private static func rules(_ texts: [String]) throws(SettingValueError) -> [AddressRule] {
        var rules: [AddressRule] = []
        for text in texts {
            do {
                rules.append(try AddressRule(text))
            } catch {
                throw SettingValueError("an address, CIDR range or host, optionally with :PORT: \(error)")
            }
        }
        return rules
    }
}
