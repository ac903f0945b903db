import ArgumentParser
import Larder

/// The executable: the server, the commands for its operator, and the commands that call a server.
@main
struct LarderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "A caching service: downloads URLs, stores them on disk, and serves them until they expire.",
        discussion: """
            Client commands use the server in \(ClientOptions.serverVariable) \
            (default: \(ClientOptions.defaultServer)) and the token in \(ClientOptions.tokenVariable), if \
            the server needs one. Their exit status:

            \(ExitStatus.help)

            Shell completion: larder --generate-completion-script bash (or zsh, fish). The manual \
            page: larder manual.
            """,
        version: Version.current,
        subcommands: [
            ServeCommand.self, CheckCommand.self, VerifyCommand.self, TokenCommand.self,
            ManualCommand<LarderCommand>.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "Client",
                subcommands: [
                    DownloadCommand.self, GetCommand.self, PutCommand.self, ListCommand.self, RemoveCommand.self,
                    WarmCommand.self, PageCommand.self, SubscribeCommand.self, SubscriptionsCommand.self,
                    OutboxCommand.self, CredentialCommand.self, WatchCommand.self, StatsCommand.self,
                    ExplainCommand.self,
                ])
        ])
}
