import Primitives

/// One address, one range, one host name or the names below it, on one port or all: what `--allow-origin` and
/// `--deny-origin` take.
///
/// `10.1.2.3`, `10.0.0.0/8`, `::1`, `fc00::/7`, `files.internal`, `*.example.com`, `*`, each with `:port` if need be;
/// an IPv6 address or range that has a port stands in brackets: `[::1]:8080`, `[fc00::/7]:443`.
public struct AddressRule: Hashable, Sendable, CustomStringConvertible {
    /// What a rule names.
    public enum Target: Hashable, Sendable {
        /// The addresses of a range (a single address is a range of one), whatever host name led to them.
        case range(AddressRange)
        /// Whatever addresses this host name of a URL has: lower-case, without a dot at the end.
        case host(String)
        /// Every host name that ends in a dot and this one.
        case subdomains(of: String)
        /// Every address and name.
        case everything
    }

    /// A text that is no rule.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let rule: String
        /// What is wrong with it.
        public let reason: String

        /// A sentence that names the rule and says what is expected.
        public var description: String {
            "\"\(rule)\" is no origin rule: \(reason) (expected an address, a CIDR range or a host name, each with an "
                + "optional :port, as in 10.0.0.0/8, [::1]:8080, files.internal, *.example.com)"
        }
    }

    /// What it names.
    public let target: Target
    /// The only port it is about; `nil` for all ports.
    public let port: UInt16?

    /// Every address and name on every port: `*`.
    public static let everything = AddressRule(target: .everything)

    private init(target: Target) {
        self.target = target
        port = nil
    }

    /// Reads a rule; white space around it is ignored. Throws ``Malformed``.
    public init(_ text: String) throws(Malformed) {
        let text = text.trimmed
        func malformed(_ reason: String) -> Malformed { Malformed(rule: text, reason: reason) }
        guard !text.isEmpty else { throw malformed("it is empty") }
        guard !text.contains("://") else { throw malformed("it is a URL; leave out the scheme and the path") }
        let (name, portText): (Substring, Substring?)
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { throw malformed("the bracket is not closed") }
            let inside = text[text.index(after: text.startIndex)..<end]
            var rest = text[text.index(after: end)...]
            var prefix: Substring = ""
            if rest.first == "/" {
                prefix = rest.prefix { $0 != ":" }
                rest = rest.dropFirst(prefix.count)
            }
            guard rest.isEmpty || rest.first == ":" else { throw malformed("only :port may follow the bracket") }
            guard inside.contains(":") else { throw malformed("only an IPv6 address stands in brackets") }
            name = inside + prefix
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
            portText = text[text.index(after: colon)...]
        } else {
            name = text[...]
            portText = nil
        }
        if let portText {
            guard let number = Int64(digits: portText), (1...65535).contains(number) else {
                throw malformed("the port is not a number from 1 to 65535")
            }
            port = UInt16(number)
        } else {
            port = nil
        }
        do {
            target = try Self.target(name)
        } catch {
            throw malformed(error.reason)
        }
    }

    private struct Reason: Error { let reason: String }

    private static func target(_ name: Substring) throws(Reason) -> Target {
        if name == "*" { return .everything }
        if name.hasPrefix("*.") {
            guard let parent = hostName(name.dropFirst(2)) else {
                throw Reason(reason: "only a host name follows \"*.\"")
            }
            return .subdomains(of: parent)
        }
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(parts[0]) {
            guard parts.count == 2 else { return .range(AddressRange(address, prefixLength: address.bitCount)!) }
            guard let number = Int64(digits: parts[1]), number <= address.bitCount else {
                throw Reason(reason: "the prefix length is not a number from 0 to \(address.bitCount)")
            }
            guard let range = AddressRange(address, prefixLength: Int(number)) else {
                let network = AddressRange.cut(address, to: Int(number))
                throw Reason(reason: "the address has bits set after the first \(number); write \(network)/\(number)")
            }
            return .range(range)
        }
        guard parts.count == 1 else { throw Reason(reason: "there is no address before the slash") }
        guard let host = hostName(name) else {
            throw Reason(reason: "it is neither an address nor a host name in ASCII letters, digits, \"-\" and \".\"")
        }
        return .host(host)
    }

    /// The name as it is compared; `nil` when it is none, or is a number that some would read as an IPv4 address.
    private static func hostName(_ name: Substring) -> String? {
        let name = comparable(String(name))
        guard !name.isEmpty, name.utf8.count <= 253 else { return nil }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.first != 0x2d && label.utf8.last != 0x2d
                && label.utf8.allSatisfy {
                    (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x5f
                }
        }
        let last = labels.last!
        let isNumeric = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
        return areLabels && !isNumeric ? name : nil
    }

    /// A host name as it is compared: lower-case, and `example.com.` is `example.com`.
    static func comparable(_ host: String) -> String {
        let host = host.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    /// Whether it is about one of these ports.
    func isFor(anyOf ports: [UInt16]) -> Bool { port.map(ports.contains) ?? true }

    /// Whether it means an address that a host, as it is compared, led to; the port is another question.
    func names(_ address: IPAddress, host: String) -> Bool {
        if case .range(let range) = target { return range.contains(address) }
        return names(host: host)
    }

    /// Whether it means a host, as it is compared, whatever its addresses are.
    func names(host: String) -> Bool {
        switch target {
        case .range: false
        case .host(let name): name == host
        case .subdomains(let parent): host.utf8.count > parent.utf8.count + 1 && host.hasSuffix("." + parent)
        case .everything: true
        }
    }

    /// Whether it is about addresses, whatever host led to them.
    var isRange: Bool { if case .range = target { true } else { false } }

    /// Whether it is this address and no other.
    func isOnly(_ address: IPAddress) -> Bool {
        if case .range(let range) = target { return range.prefixLength == address.bitCount && range.address == address }
        return false
    }

    /// The rule as it can be written.
    public var description: String {
        let name: String
        switch target {
        case .host(let host): name = host
        case .subdomains(let parent): name = "*.\(parent)"
        case .everything: name = "*"
        case .range(let range):
            let isSingle = range.prefixLength == range.address.bitCount
            let text = isSingle ? range.address.description : range.description
            if case .v6 = range.address, port != nil { name = "[\(text)]" } else { name = text }
        }
        return port.map { "\(name):\($0)" } ?? name
    }
}

extension String {
    fileprivate var trimmed: String {
        String(self[...].trimming { $0 == " " || $0 == "\t" })
    }
}
