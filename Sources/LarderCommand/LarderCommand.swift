import ArgumentParser
import Larder

/// The executable: `larder serve`, `larder check`, `larder verify`, `larder token`.
@main
struct LarderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "A disk cache as a service: POST a URL, it is kept on disk and served until it expires.",
        version: Version.current,
        subcommands: [ServeCommand.self, CheckCommand.self, VerifyCommand.self, TokenCommand.self])
}
