import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite("deploy/larder.yaml")
struct ConfigurationExampleTests {
    private static let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "deploy/larder.yaml").path

    @Test("The unchanged file sets no option")
    func unchanged() throws {
        let environment = ["HOME": "/home/ada"]
        let none = try Configuration(flags: [:], environment: environment, file: nil)
        #expect(try Configuration(flags: [:], environment: environment, file: Self.path) == none)
    }

    @Test("The file names every option, and shows the default of each option that has a default")
    func complete() throws {
        let text = try String(contentsOfFile: Self.path, encoding: .utf8)
        // A commented option has no space behind its #, unlike a sentence.
        let options = text.split(separator: "\n").filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }
        let directory = try TemporaryDirectory()
        let chosen = try directory.write(options.map { $0.dropFirst() }.joined(separator: "\n"), to: "all.yaml")
        let values = try ConfigurationFile.values(at: chosen)
        #expect(Set(values.keys) == Set(Setting.all.map(\.name)))
        // A debug build has another default layout. The defaults of the other two options cannot be written in a file.
        for setting in Setting.all
        where setting.defaultText != "none" && !["layout", "directory", "log-format"].contains(setting.name) {
            #expect(values[setting.name]?.joined(separator: ",") == setting.defaultText, "\(setting.name)")
        }
        #expect(values["layout"] == ["hashed"])
    }
}
