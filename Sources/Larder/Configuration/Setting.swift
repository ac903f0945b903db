import Foundation

/// An option: its flag, environment variable, key in the YAML file, parser and help text.
package struct Setting: Sendable {
    /// The name, as in the YAML file: `memory-limit`.
    package let name: String
    /// The placeholder of the value in the help: `BYTES`.
    package let placeholder: String
    /// The default in an operator's notation.
    package let defaultText: String
    /// A sentence for the help and the documentation.
    package let help: String
    /// Whether the flag may be repeated. The variable separates the values by commas, and the file has a list.
    package let isList: Bool
    /// Parses the values and stores the result in a configuration. Throws the expected form of a value.
    let apply: @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void

    /// The flag: `--memory-limit`.
    package var flag: String { "--" + name }
    /// The environment variable: `LARDER_MEMORY_LIMIT`.
    package var variable: String {
        "LARDER_" + name.uppercased().replacing("-", with: "_")
    }

    /// Creates an option with a single value.
    init(
        _ name: String, _ placeholder: String, default defaultText: String, _ help: String,
        apply: @escaping @Sendable (String, inout Configuration) throws(SettingValueError) -> Void
    ) {
        self.init(name, placeholder, default: defaultText, help, isList: false) {
            (values, configuration) throws(SettingValueError) in
            guard let value = values.last else { return }
            try apply(value, &configuration)
        }
    }

    /// Creates an option with any number of values, none of them empty.
    init(
        _ name: String, _ placeholder: String, default defaultText: String, _ help: String, isList: Bool,
        applyAll: @escaping @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void
    ) {
        self.name = name
        self.placeholder = placeholder
        self.defaultText = defaultText
        self.help = help
        self.isList = isList
        apply = { (values, configuration) throws(SettingValueError) in
            // An empty element is an error, because it comes from an unset variable by mistake.
            guard !values.contains("") else { throw SettingValueError("no empty element; leave the empty element out") }
            try applyAll(values, &configuration)
        }
    }

    /// The elements of a list on one line, separated by commas and optional spaces.
    static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// The expected form of a value, for a message "expected …".
struct SettingValueError: Error {
    var expected: String
    init(_ expected: String) { self.expected = expected }
}

/// The reason why the configuration is unusable. The message names the option and its source.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// A sentence for the operator.
    package let description: String
}
