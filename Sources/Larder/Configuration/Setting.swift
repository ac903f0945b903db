import DiskCache
import Foundation
import Origin
import Primitives

/// An option: its flag, environment variable, key in the YAML file, parser and help text.
package struct Setting: Sendable {
    /// As in the YAML file: `memory-limit`.
    package let name: String
    /// The word that stands for the value in the help text, such as `BYTES`.
    package let placeholder: String
    package let defaultText: String
    package let help: String
    /// Whether the option has several values: by repeated flags, by commas in the variable, or by a list in YAML.
    package let isList: Bool
    let apply: @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void

    package var flag: String { "--" + name }
    package var variable: String { "LARDER_" + name.uppercased().replacing("-", with: "_") }
}

extension Setting {
    /// An option with one value. If several are given, the last counts.
    init<Value>(
        _ name: String, _ placeholder: String, default defaultText: String, _ help: String,
        _ property: WritableKeyPath<Configuration, Value> & Sendable, _ parse: @escaping Parser<Value>
    ) {
        self.init(name: name, placeholder: placeholder, defaultText: defaultText, help: help, isList: false) {
            (values, configuration) throws(SettingValueError) in
            if let value = values.last { configuration[keyPath: property] = try parse(value) }
        }
    }

    /// A repeatable option. No value may be empty.
    init<Value>(
        _ name: String, _ placeholder: String, default defaultText: String, _ help: String,
        list property: WritableKeyPath<Configuration, Value> & Sendable,
        _ parse: @escaping @Sendable ([String]) throws(SettingValueError) -> Value
    ) {
        self.init(name: name, placeholder: placeholder, defaultText: defaultText, help: help, isList: true) {
            (values, configuration) throws(SettingValueError) in
            // An empty element is an error, because most likely it comes from an unset variable.
            guard !values.contains("") else { throw SettingValueError("no empty element; leave the empty element out") }
            configuration[keyPath: property] = try parse(values)
        }
    }

    static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// The parsers of values.
extension Setting {
    typealias Parser<Value> = @Sendable (String) throws(SettingValueError) -> Value

    /// The parser throws when `parse` returns `nil`.
    static func value<Value>(
        _ expected: String, _ parse: @escaping @Sendable (String) -> Value?
    ) -> Parser<Value> {
        { text throws(SettingValueError) in
            guard let value = parse(text) else { throw SettingValueError(expected) }
            return value
        }
    }

    static func text(_ expected: String) -> Parser<String> { value(expected) { $0.isEmpty ? nil : $0 } }

    static let path = text("a path")
    static let portNumber = value("a number from 0 to 65535") { UInt16($0) }
    static let seconds = value(TTL.expectation) { TTL($0)?.duration }
    static let count = value("a number from 1 to 100000") { number($0, from: 1) }

    /// The parser returns `nil` for "auto".
    static func countOrAuto(from least: Int) -> Parser<Int?> {
        value("a number from \(least) to 100000, or auto") { text -> Int?? in
            text == "auto" ? .some(nil) : number(text, from: least).map(Optional.some)
        }
    }

    private static func number(_ text: String, from least: Int) -> Int? {
        Int(text).flatMap { (least...100_000).contains($0) ? $0 : nil }
    }

    /// More than the size of any disk, and small enough that a sum of several sizes fits into an `Int`.
    private static let maximumBytes = 1 << 60

    static func bytes(atLeast minimum: Int = 0, atMost maximum: Int = maximumBytes) -> Parser<Int> {
        value(
            "a number of bytes, such as 1048576, 512KiB or 10GiB, from \(ByteSize(bytes: minimum)) to "
                + "\(ByteSize(bytes: maximum))"
        ) { text in
            ByteSize(text).flatMap { (minimum...maximum).contains($0.bytes) ? $0.bytes : nil }
        }
    }

    static let reserve = value("a share of the file system from 0% to 90%, or a number of bytes such as 10GiB") {
        text -> DiskReserve? in
        if let size = ByteSize(text), size.bytes <= maximumBytes { return .bytes(Int64(size.bytes)) }
        let digits = text.dropLast()
        guard text.last == "%", digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let percent = Double(digits), (0...90).contains(percent)
        else { return nil }
        return .percent(percent)
    }

    static let certificates = value("a readable file with certificates in PEM") { path -> String? in
        let file = try? String(contentsOfFile: path, encoding: .utf8)
        return file?.contains("-----BEGIN CERTIFICATE-----") == true ? path : nil
    }

    /// Whether a text is an origin in the form that browsers send: lower-case, without a path or a default port.
    static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, parts[0].hasSuffix(":"), !parts[2].isEmpty else { return false }
        let hasDefaultPort =
            (parts[0] == "http:" && parts[2].hasSuffix(":80")) || (parts[0] == "https:" && parts[2].hasSuffix(":443"))
        return text == text.lowercased() && !hasDefaultPort && !parts[2].contains { "@?#".contains($0) }
    }

    static func rules(_ texts: [String]) throws(SettingValueError) -> [AddressRule] {
        do {
            return try OriginRules(texts).rules
        } catch {
            throw SettingValueError("an address, CIDR range or host, optionally with :PORT: \(error.reason)")
        }
    }
}

/// The expected form of a value, for a message "expected …".
struct SettingValueError: Error {
    var expected: String
    init(_ expected: String) { self.expected = expected }
}

/// The message names the option and its source.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// A number of bytes in an operator's notation: `1048576`, `512KiB`, `10GiB`, `5MB`.
package struct ByteSize: CustomStringConvertible {
    package var bytes: Int

    package init(bytes: Int) { self.bytes = bytes }

    /// `nil` unless the text is a whole number, with or without a unit, and the number of bytes fits into an `Int`.
    package init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = Int(digits), let factor = Self.units.first(where: { $0.name == unit })?.factor else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else { return nil }
        bytes = product
    }

    /// The size in the largest binary unit that divides the number of bytes: `256MiB`.
    package var description: String {
        let unit = Self.units.last { $0.name.hasSuffix("iB") && bytes >= $0.factor && bytes % $0.factor == 0 }
        return unit.map { "\(bytes / $0.factor)\($0.name)" } ?? String(bytes)
    }

    private static let units: [(name: String, factor: Int)] = [
        ("", 1), ("B", 1), ("kB", 1000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20),
        ("GB", 1_000_000_000), ("GiB", 1 << 30), ("TB", 1_000_000_000_000), ("TiB", 1 << 40),
    ]
}

/// A duration from a caller: not negative, not NaN, at most 100 years, with a precision of a millisecond.
package struct TTL: Hashable, Sendable {
    /// 100 years of 365.25 days.
    package static let maximumSeconds = 3_155_760_000

    package let duration: Duration

    /// `nil` when `seconds` is out of bounds or NaN. A positive value becomes at least 1 ms, as 0 means "never fresh".
    package init?(seconds: Double) {
        guard seconds >= 0, seconds <= Double(Self.maximumSeconds) else { return nil }
        let milliseconds = Int64((seconds * 1000).rounded())
        duration = .milliseconds(seconds > 0 ? max(1, milliseconds) : 0)
    }

    /// Reads seconds, or a number with a unit (`15m`), such as the value of a query parameter.
    package init?(_ text: String) {
        guard let text = DurationText(text) else { return nil }
        self.init(seconds: text.seconds)
    }

    package static let expectation =
        "seconds from 0 to \(maximumSeconds), or a number with a unit, such as \(DurationText.examples)"
}
