import ArgumentParser
import Larder

/// `larder manual`: prints the manual page of a command, for the package that installs it.
struct ManualCommand<Command: ParsableCommand>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "manual", abstract: "Print the manual page: larder manual | man -l -", shouldDisplay: false)
    }

    func run() throws {
        let page = try ManualPage(dump: Command._dumpHelp(), version: Version.current)
        try Console.output.write(Array(page.text.utf8))
    }
}
