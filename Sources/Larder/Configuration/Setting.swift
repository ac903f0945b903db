import Foundation

/// An option: its flag, environment variable, key in the YAML file, parser and help text.
package struct Setting: Sendable {
    /// As in the YAML file: `memory-limit`.
    package let name: String
    /// The value in the help: `BYTES`.
    package let placeholder: String
    package let defaultText: String
    package let help: String
    /// Whether the flag may be repeated. The variable separates the values by commas, and the file has a list.
    package let isList: Bool
    let apply: @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void

    package var flag: String { "--" + name }
    package var variable: String {
        "LARDER_" + name.uppercased().replacing("-", with: "_")
    }

    /// An option with one value; the last of several counts.
    init<Value>(
        _ name: String, _ placeholder: String, default defaultText: String, _ help: String,
        _ property: WritableKeyPath<Configuration, Value> & Sendable,
        _ parse: @escaping @Sendable (String) throws(SettingValueError) -> Value
    ) {
        self.init(name, placeholder, defaultText, help, isList: false) {
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
        self.init(name, placeholder, defaultText, help, isList: true) {
            (values, configuration) throws(SettingValueError) in
            // An empty element is an error, because it comes from an unset variable by mistake.
            guard !values.contains("") else { throw SettingValueError("no empty element; leave the empty element out") }
            configuration[keyPath: property] = try parse(values)
        }
    }

    private init(
        _ name: String, _ placeholder: String, _ defaultText: String, _ help: String, isList: Bool,
        apply: @escaping @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void
    ) {
        (self.name, self.placeholder, self.defaultText, self.help) = (name, placeholder, defaultText, help)
        (self.isList, self.apply) = (isList, apply)
    }

    static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
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
}
