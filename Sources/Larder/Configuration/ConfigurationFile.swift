import Foundation
import Yams

/// Reads an operator's YAML file: a mapping of option names to values.
enum ConfigurationFile {
    /// Returns the values by ``Setting/name``; none for an empty file. An error is one line, with file and place.
    static func values(at path: String) throws(ConfigurationError) -> [String: [String]] {
        guard let node = try node(at: path), node.null == nil else { return [:] }
        guard let mapping = node.mapping else {
            throw ConfigurationError("\(path): expected option names with their values, as in \"port: 8080\"")
        }
        var values: [String: [String]] = [:]
        for (key, value) in mapping {
            let name = key.string ?? ""
            guard let setting = Setting.all.first(where: { $0.name == name }) else {
                throw ConfigurationError("\(path): unknown option \"\(name)\"; `larder serve --help` lists all options")
            }
            // A missing or null value is an error, because the operator more likely forgot the value than meant none.
            if let scalar = value.scalar, value.null == nil {
                values[name] = setting.isList ? Setting.elements(scalar.string) : [scalar.string]
            } else if setting.isList, let sequence = value.sequence, sequence.allSatisfy({ $0.scalar != nil }) {
                values[name] = sequence.compactMap(\.scalar?.string)
            } else {
                let shape = setting.isList ? "a value or a list of values" : "one value"
                throw ConfigurationError("\(path): \"\(name)\" takes \(shape); leave it out to use the default")
            }
        }
        return values
    }

    private static func node(at path: String) throws(ConfigurationError) -> Node? {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            let cause = (error as? CocoaError)?.underlying as? POSIXError
            let reason = cause.map { String(cString: strerror($0.code.rawValue)) } ?? "it cannot be read"
            throw ConfigurationError(
                "the configuration file \"\(path)\": \(reason); set --config or \(Configuration.fileVariable) to "
                    + "a readable YAML file, or set neither of them")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError("\(path): the file is not UTF-8")
        }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            throw ConfigurationError("\(path): invalid YAML: \(words(error))")
        }
    }

    /// An error of Yams in a single line. Yams' own message shows the lines around the place.
    private static func words(_ error: any Error) -> String {
        switch error {
        case YamlError.duplicatedKeysInMapping(let names, _):
            "\(names.sorted().joined(separator: ", ")) is given more than once"
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            "line \(mark.line), column \(mark.column): \(problem)"
        default: "\(error)".replacing("\n", with: " ")
        }
    }
}
