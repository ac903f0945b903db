import Foundation
import Testing

/// An input that was worth keeping: one that reaches something that the others do not, or that broke something once.
struct KeptInput: Sendable, CustomTestStringConvertible {
    let target: FuzzTarget
    /// Below `Tests/Fuzz`.
    let path: String

    var testDescription: String { path }

    func bytes() throws -> [UInt8] { try Array(Data(contentsOf: Self.folder.appending(path: path))) }

    /// `Tests/Fuzz`.
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// All of a folder, `corpus` or `regressions`.
    static func all(in kind: String) -> [KeptInput] {
        FuzzTarget.all.flatMap { target in
            names(in: "\(kind)/\(target.name)").map { KeptInput(target: target, path: "\(kind)/\(target.name)/\($0)") }
        }
    }

    /// What is in a folder below `Tests/Fuzz`; nothing when there is no such folder.
    static func names(in path: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)
        return (names ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }
}
