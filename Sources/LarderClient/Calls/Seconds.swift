import Primitives

/// A duration as the user writes it: a number of seconds, or a number with a unit: `3600`, `0.5`, `15m`, `7d`. The
/// server decides whether a duration is too long.
package struct Seconds: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private let hasUnit: Bool

    /// `nil` when the text is no number in JSON's form, with or without a unit (``Primitives/DurationText``), or is
    /// negative.
    package init?(_ text: String) {
        guard let duration = DurationText(text) else { return nil }
        let number = String(Substring(duration.hasUnit ? text.utf8.dropLast() : text.utf8[...]))
        guard case .number? = try? JSON(parsing: number), !number.hasPrefix("-") else { return nil }
        description = text
        hasUnit = duration.hasUnit
    }

    var json: JSON { hasUnit ? .string(description) : .number(description) }
}
