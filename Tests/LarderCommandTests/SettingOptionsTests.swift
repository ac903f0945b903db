import Larder
import Primitives
import Testing

@testable import LarderCommand

@Suite("The options of larder serve")
struct SettingOptionsTests {
    @Test("Each setting has a flag, and each flag except --config has a setting")
    func flags() throws {
        let commands = try JSON(parsing: LarderCommand._dumpHelp())["command"]?["subcommands"]?.arrayValue
        let serve = try #require(commands?.first { $0["commandName"] == "serve" })
        let names = (serve["arguments"]?.arrayValue ?? []).flatMap { $0["names"]?.arrayValue ?? [] }
            .filter { $0["kind"] == "long" }.compactMap { $0["name"]?.stringValue }
        #expect(Set(names).subtracting(["help", "version"]) == Set(Setting.all.map(\.name)).union(["config"]))
    }

    @Test("The value of a flag becomes the value of its setting", arguments: Setting.all.map(\.name))
    func values(name: String) throws {
        // The flag of `Setting.open` takes no value.
        let isSwitch = name == Setting.open.name
        let options = try SettingOptions.parse(isSwitch ? ["--\(name)"] : ["--\(name)", "7"])
        #expect(options.flags[name] == [isSwitch ? "true" : "7"])
    }
}
