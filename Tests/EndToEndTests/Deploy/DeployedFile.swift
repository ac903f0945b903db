import Foundation

/// A file that operators deploy, as it is in the repository.
struct DeployedFile {
    let text: String

    /// - Parameter path: from the top of the repository. Throws when there is none.
    init(_ path: String) throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// What it holds. Throws when it is not YAML.
    var yaml: JSONValue {
        get throws { try JSONValue(yaml: text) }
    }

    /// What it holds. Throws when it is not JSON.
    var json: JSONValue {
        get throws { try JSONValue(parsing: text.utf8) }
    }

    /// What stands behind a word, as `ENV `, on the lines that begin with it.
    func values(after word: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(word) }.map { String($0.dropFirst(word.count)) }
    }
}

extension JSONValue {
    /// Every value of a member of that name, at any depth.
    func members(named name: String) -> [JSONValue] {
        switch self {
        case .array(let elements): elements.flatMap { $0.members(named: name) }
        case .object(let members):
            (members[name].map { [$0] } ?? []) + members.values.flatMap { $0.members(named: name) }
        default: []
        }
    }

    /// The element of an array whose member `name` is the text `value`; `nil` when there is none.
    func element(where name: String, is value: String) -> JSONValue? {
        arrayValue?.first { $0[name]?.stringValue == value }
    }
}
