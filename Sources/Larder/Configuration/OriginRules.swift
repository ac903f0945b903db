import Origin

/// The only origins that a namespace may contact, among the origins that the server permits.
package struct OriginRules: Hashable, Sendable {
    package static let limit = 100

    let rules: [AddressRule]

    /// Parses rules in the syntax of `--allow-origin`, such as `*.example.com:443` and `10.0.0.0/8`. An empty list
    /// permits no origin. Throws ``Malformed`` for the first invalid rule.
    package init(_ texts: [String]) throws(Malformed) {
        var rules: [AddressRule] = []
        for (index, text) in texts.enumerated() {
            do {
                rules.append(try AddressRule(text))
            } catch {
                throw Malformed(index: index, reason: error.description)
            }
        }
        self.rules = rules
    }

    /// The rules in their canonical spelling.
    package var texts: [String] { rules.map(\.description) }

    package struct Malformed: Error, Hashable {
        package let index: Int
        package let reason: String
    }
}
