import ArgumentParser
import LarderClient

/// `larder page`: captures of web pages.
struct PageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "Capture web pages, and list, open, export, import and remove them.",
        subcommands: [
            PageSaveCommand.self, PageListCommand.self, PageOpenCommand.self, PageExportCommand.self,
            PageImportCommand.self, PageRemoveCommand.self,
        ])
}

extension HeldPage {
    /// Prints the page, and on standard error the missing resources. Throws ``ExitStatus/partial`` if the last capture
    /// lacks resources.
    func print(_ options: ClientOptions) throws {
        try options.print(json, or: report(now: .now))
        guard lastState == "partial" else { return }
        if !options.json {
            for line in shortcomings { try Console.error.print(line) }
        }
        throw ExitStatus.partial.code
    }
}
