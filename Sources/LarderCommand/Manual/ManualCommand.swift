import ArgumentParser
import Larder

/// `larder manual`: prints the manual page, for the package that installs it.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Print the manual page: larder manual | man -l -", shouldDisplay: false)

    func run() throws {
        let page = try ManualPage(dump: LarderCommand._dumpHelp(), version: Version.current)
        try Console.output.write(Array(page.text.utf8))
    }
}
