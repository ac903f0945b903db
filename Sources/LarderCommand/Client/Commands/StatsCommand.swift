import ArgumentParser
import LarderClient
import Primitives

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Print the server's counters.",
        discussion: """
            The counters cover the whole server. Counts of events, such as hits, begin at the server's start. Needs a token with the scope admin.
            """)

    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let json = try await client.send(APICall(["stats"])).json()
            try options.print(json, or: Self.report(json))
        }
    }

    /// Shows the counters in the server's order. The name of a nested counter includes the name of its group.
    static func report(_ json: JSON) -> Report {
        var report = Report()
        func add(_ json: JSON, _ prefix: String) {
            guard case .object(let members) = json else { return }
            for member in members {
                let name = prefix + member.name
                if case .object = member.value {
                    add(member.value, name + ".")
                } else {
                    report.add(name, cell(name, member.value))
                }
            }
        }
        add(json, "")
        return report
    }

    private static func cell(_ name: String, _ value: JSON) -> Cell {
        let plain = value.stringValue ?? value.text
        let isBytes = name.hasSuffix("Bytes") || name.hasSuffix("Limit") || name.hasSuffix("Reserve")
        if isBytes, let bytes = value.countValue { return Cell(bytes: bytes) }
        if name.hasSuffix("Seconds"), let duration = value.durationValue {
            return Cell(plain: plain, words: Words.duration(duration))
        }
        return Cell(plain)
    }
}
