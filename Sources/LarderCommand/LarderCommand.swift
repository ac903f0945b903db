import ArgumentParser
import Larder

/// The executable: the server, the commands for its operator, and the commands that call a server.
@main
struct LarderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "A disk cache as a service: POST a URL, it is kept on disk and served until it expires.",
        discussion: """
            Client commands speak to the server that \(ClientOptions.serverVariable) names \
            (\(ClientOptions.defaultServer) unless it does), with the token in \(ClientOptions.tokenVariable) if it \
            asks for one. They end with:

            \(ExitStatus.help)

            A script that completes command lines: larder --generate-completion-script bash, zsh or fish. The manual \
            page: larder manual.
            """,
        version: Version.current,
        subcommands: [
            ServeCommand.self, CheckCommand.self, VerifyCommand.self, TokenCommand.self, ManualCommand.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "Client",
                subcommands: [
                    DownloadCommand.self, GetCommand.self, PutCommand.self, ListCommand.self, RemoveCommand.self,
                    WarmCommand.self, WatchCommand.self, StatsCommand.self, ExplainCommand.self,
                ])
        ])
}
