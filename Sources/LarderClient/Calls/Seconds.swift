import Primitives

/// A duration as it is written: a number of seconds, or a number with a unit: `3600`, `0.5`, `15m`, `7d`. Whether it is
/// too long is for the server to say.
public struct Seconds: Hashable, Sendable, CustomStringConvertible {
    /// The text as it was written.
    public let description: String
    private let hasUnit: Bool

    /// `nil` for what is no number in JSON's form, with a unit or without (``Primitives/DurationText``), or a negative
    /// one.
    public init?(_ text: String) {
        guard let duration = DurationText(text) else { return nil }
        let number = String(Substring(duration.hasUnit ? text.utf8.dropLast() : text.utf8[...]))
        guard case .number? = try? JSON(parsing: number), !number.hasPrefix("-") else { return nil }
        description = text
        hasUnit = duration.hasUnit
    }

    /// What the API takes: a number, or a text with a unit.
    var json: JSON { hasUnit ? .string(description) : .number(description) }
}
