import Foundation
import Testing

/// A file of the repository that operators deploy.
struct DeployedFile {
    let text: String

    /// - Parameter path: the path from the top of the repository. Throws when the file does not exist.
    init(_ path: String) throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private init(text: String) {
        self.text = text
    }

    /// The part of a Dockerfile that makes the stage `name`. Throws when there is none.
    func stage(_ name: String) throws -> DeployedFile {
        let stages = text.components(separatedBy: "\nFROM ")
        let stage = stages.first { stage in stage.prefix { $0 != "\n" }.hasSuffix(" AS \(name)") }
        return DeployedFile(text: try #require(stage))
    }

    /// The content. Throws when it is not YAML.
    var yaml: JSONValue {
        get throws { try JSONValue(yaml: text) }
    }

    /// The content. Throws when it is not JSON.
    var json: JSONValue {
        get throws { try JSONValue(parsing: text.utf8) }
    }

    /// The text behind a word such as `ENV ` on all lines that begin with the word.
    func values(after word: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(word) }.map { String($0.dropFirst(word.count)) }
    }
}

extension JSONValue {
    /// All values of members with this name, at any depth.
    func members(named name: String) -> [JSONValue] {
        switch self {
        case .array(let elements): elements.flatMap { $0.members(named: name) }
        case .object(let members):
            (members[name].map { [$0] } ?? []) + members.values.flatMap { $0.members(named: name) }
        default: []
        }
    }

    /// The element of an array with the text `value` as its member `name`; `nil` when no element matches.
    func element(where name: String, is value: String) -> JSONValue? {
        arrayValue?.first { $0[name]?.stringValue == value }
    }
}
