import Primitives

/// A number of seconds as it is written: `3600`, `0.5`. Whether it is too many is for the server to say.
public struct Seconds: Hashable, Sendable, CustomStringConvertible {
    /// The number as it was written.
    public let description: String

    /// `nil` for what is no number in JSON's form, or a negative one.
    public init?(_ text: String) {
        guard case .number(let number)? = try? JSON(parsing: text), !number.hasPrefix("-") else { return nil }
        description = number
    }

    /// The number.
    var json: JSON { .number(description) }
}
