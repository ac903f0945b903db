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

    /// No value may be empty.
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
