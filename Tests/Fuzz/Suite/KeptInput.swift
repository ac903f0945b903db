import Foundation
import Testing

/// A kept input: it reaches code that no other input reaches, or it broke a property once.
struct KeptInput: Sendable, CustomTestStringConvertible {
    let target: FuzzTarget
    /// The path below `Tests/Fuzz`.
    let path: String

    var testDescription: String { path }

    func bytes() throws -> [UInt8] { try Array(Data(contentsOf: Self.folder.appending(path: path))) }

    /// `Tests/Fuzz`.
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// All inputs in the folder `kind`, which is `corpus` or `regressions`.
    static func all(in kind: String) -> [KeptInput] {
        FuzzTarget.all.flatMap { target in
            names(in: "\(kind)/\(target.name)").map { KeptInput(target: target, path: "\(kind)/\(target.name)/\($0)") }
        }
    }

    /// The names in the folder `path` below `Tests/Fuzz`, without hidden files. Empty if the folder does not exist.
    static func names(in path: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)
        return (names ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }
}
