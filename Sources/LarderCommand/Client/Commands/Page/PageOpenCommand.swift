import ArgumentParser
import LarderClient
import Primitives

struct PageOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Print the address that shows a page in a browser.",
        discussion: """
            The address works without a token, until it has not been used for an hour. On a desktop: \
            xdg-open "$(larder page open URL)"
            """)

    @Argument(help: "Key or URL of the page.") var page: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let key = try await client.key(of: EntryReference(page))
            let address = try await client.viewAddress(of: key)
            if options.json {
                try Console.output.print(json: ["key": .string(key), "address": .string(address)])
            } else {
                try Console.output.print(LogText.words(address))
            }
        }
    }
}
