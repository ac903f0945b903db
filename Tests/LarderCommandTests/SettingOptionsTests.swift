import Larder
import Primitives
import Testing

@testable import LarderCommand

@Suite("options of larder serve")
struct SettingOptionsTests {
    @Test("each setting has a flag, and there are no others")
    func flags() throws {
        let commands = try JSON(parsing: LarderCommand._dumpHelp())["command"]?["subcommands"]?.arrayValue
        let serve = try #require(commands?.first { $0["commandName"] == "serve" })
        let names = (serve["arguments"]?.arrayValue ?? []).flatMap { $0["names"]?.arrayValue ?? [] }
            .filter { $0["kind"] == "long" }.compactMap { $0["name"]?.stringValue }
        #expect(Set(names).subtracting(["help", "version"]) == Set(Setting.all.map(\.name)).union(["config"]))
    }

    @Test("what a flag says is what its setting is given", arguments: Setting.all.map(\.name))
    func values(name: String) throws {
        // It takes no value.
        let isSwitch = name == Setting.open.name
        let options = try SettingOptions.parse(isSwitch ? ["--\(name)"] : ["--\(name)", "7"])
        #expect(options.flags[name] == [isSwitch ? "true" : "7"])
    }
}
