import Foundation

/// One option: the flag, the environment variable, the key of the YAML file, the parser and the words of the help.
public struct Setting: Sendable {
    /// The name in its plain form, as in the YAML file: `memory-limit`.
    public let name: String
    /// What stands for the value in the help: `BYTES`.
    public let placeholder: String
    /// The default as an operator would write it.
    public let defaultText: String
    /// One sentence for the help and the documentation.
    public let help: String
    /// Whether it may be given several times (the variable separates with commas, the file has a list).
    public let isList: Bool
    /// Reads the values into a configuration; throws words that say what was expected.
    let apply: @Sendable ([String], inout Configuration) throws(SettingValueError) -> Void

    /// `--memory-limit`.
    public var flag: String { "--" + name }
    /// `LARDER_MEMORY_LIMIT`.
    public var variable: String {
        "LARDER_" + name.uppercased().replacing("-", with: "_")
    }

    /// An option with one value.
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

    /// An option with any number of values, none of them empty.
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
            // A variable that was never set makes an empty element: nobody means that.
            guard !values.contains("") else { throw SettingValueError("no empty element; leave it out instead") }
            try applyAll(values, &configuration)
        }
    }

    /// The elements of a list as an operator writes it on one line: separated by commas, with or without spaces.
    static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// What is wrong with one value: "expected …".
struct SettingValueError: Error {
    var expected: String
    init(_ expected: String) { self.expected = expected }
}

/// Why the configuration cannot be used, in words that name the option and the place it came from.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// One sentence for the operator.
    public let description: String
}
