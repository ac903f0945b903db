import ArgumentParser
import LarderClient

struct PageExportCommand: AsyncParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case warc
        case wacz

        /// The format that the extension of a file name states; `nil` for any other extension. A plain `.warc` is none
        /// of them, because exports are compressed.
        init?(path: String) {
            let name = path.lowercased()
            if name.hasSuffix(".warc.gz") {
                self = .warc
            } else if name.hasSuffix(".wacz") {
                self = .wacz
            } else {
                return nil
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the newest capture of a page to a WARC or WACZ file.",
        discussion: """
            A WARC file (compressed) is for archives and tools such as pywb, and a WACZ file for players such as \
            ReplayWeb.page. The file appears only when it is complete.
            """)

    @Argument(help: "Key or URL of the page.") var page: String
    @Option(
        name: .shortAndLong, help: ArgumentHelp("File to write; - is standard output.", valueName: "file"),
        completion: .file())
    var output: String
    @Option(
        "Format: warc or wacz. [default: by the name of the file, which ends in .warc.gz or .wacz]", value: "format")
    var format: Format?
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard format != nil || Format(path: output) != nil else {
            throw ValidationError(
                "the name of the file does not state the format; expected .warc.gz or .wacz at its end, or --format")
        }
    }

    func run() async throws {
        let format = format ?? Format(path: output)
        try await options.perform { client in
            let key = try await client.key(of: EntryReference(page))
            try await client.save(APICall(["pages", key, "export"], query: [("format", format?.rawValue)]), to: output)
        }
    }
}
