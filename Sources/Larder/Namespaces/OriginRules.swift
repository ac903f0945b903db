import Origin

/// The only origins that a namespace may ask, of those that the server may ask.
public struct OriginRules: Hashable, Sendable {
    /// The most rules that there may be.
    public static let limit = 100

    let rules: [AddressRule]

    /// Reads rules in the words of `--allow-origin`, such as `*.example.com:443` and `10.0.0.0/8`; without any, nothing
    /// may be asked. Throws ``Malformed`` for the first that is none.
    public init(_ texts: [String]) throws(Malformed) {
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

    /// The rules, each in its canonical spelling.
    public var texts: [String] { rules.map(\.description) }

    /// A text is no rule.
    public struct Malformed: Error, Hashable {
        /// Which one of them.
        public let index: Int
        /// What is wrong with it, in words for who wrote it.
        public let reason: String
    }
}
