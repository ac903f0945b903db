import ArgumentParser
import Foundation
import LarderClient

/// `larder outbox`: changes that the server sends to origins.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "Send changes to origins, also later, and decide about conflicts.",
        subcommands: [
            OutboxSendCommand.self, OutboxListCommand.self, OutboxShowCommand.self, OutboxRetryCommand.self,
            OutboxCancelCommand.self, OutboxResolveCommand.self, OutboxSquashCommand.self, OutboxRevertCommand.self,
        ])
}

struct OutboxListCommand: AsyncParsableCommand {
    private static let states = [
        "pending", "sending", "confirmed", "done", "uncertain", "conflict", "blocked", "rejected", "cancelled",
        "expired",
    ]

    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List changes.",
        discussion: """
            In the order of acceptance. The states uncertain, conflict, blocked and rejected wait for a decision or a \
            credential. On a terminal, lines fit its width: the URL comes first and is shortened. Elsewhere, and with \
            --json, lines are complete, and have the columns id, state, method, attempts, date of acceptance, date of \
            the next attempt, problem, URL, and lane if it is not the URL.
            """)

    @Option(
        name: .customLong("state"),
        help: ArgumentHelp(
            "Only changes in this state, or in one of several states separated by commas. Repeatable. States: "
                + OutboxListCommand.states.joined(separator: ", ") + ".", valueName: "state"),
        completion: .list(OutboxListCommand.states))
    var states: [String] = []
    @Option("Only changes of this URL, in any spelling.", value: "url") var url: String?
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var output = ListOutput(options)
            try await client.changes(states: states, url: url) { changes in
                let now = Date()
                try output.print(
                    changes, json: \.json, titles: OutboxChange.shownTitles, shown: { $0.shownCells(now: now) },
                    cells: { $0.cells(now: now) })
            }
        }
    }
}

struct OutboxShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a change, and the values that differ between its versions.",
        discussion: """
            The versions are base, which the author of the change saw, ours, which the change makes, and in a conflict \
            theirs, which the origin has. For JSON, shows the members that differ: clash marks a member that both \
            sides have changed, ours and theirs a member that one side has changed, and both a member that both sides \
            have changed in the same way. On a terminal, lines fit its width. With --json, prints the whole versions.
            """)

    @Argument(help: "Id of the change.") var id: Int64
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let change = try await client.change(id)
            guard !options.json else { return try Console.output.print(json: change.json) }
            try change.report(now: .now).print()
            let (isTerminal, width) = (Console.output.isTerminal, Console.output.columns)
            let lines = ChangeVersions(change)?.lines(forTerminal: isTerminal, width: width) ?? []
            for line in lines { try Console.output.print(line) }
            if isTerminal, let advice = change.advice { try Console.error.print(advice) }
        }
    }
}

struct OutboxRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Send a change again now.",
        discussion: """
            Ends the pause of a change, or sends a stopped change once more. The effect of a POST with an unknown \
            outcome may then happen twice.
            """)

    @Argument(help: "Id of the change.") var id: Int64
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { try options.print(try await $0.retry(change: id)) }
    }
}

struct OutboxCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Withdraw a change that the origin has not confirmed.",
        discussion: "Fails while the change is being sent.")

    @Argument(help: "Id of the change.") var id: Int64
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { try options.print(try await $0.cancel(change: id)) }
    }
}

struct OutboxSquashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "squash", abstract: "Make one change of several.",
        discussion: """
            The changes must be neighbours in one lane that have not been sent, and must not clash. The last one \
            survives with the edits of all of them, and is printed; the others are cancelled.
            """)

    @Argument(help: "Ids of the changes.") var ids: [Int64]
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard ids.count > 1 else { throw ValidationError("expected the ids of at least two changes") }
    }

    func run() async throws {
        try await options.perform { try options.print(try await $0.squash(changes: ids)) }
    }
}

struct OutboxRevertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Take back a change that the origin has confirmed.",
        discussion: """
            Makes a new change, and prints it. Later edits of other members are kept. A POST, and a change without a \
            known base, cannot be taken back.
            """)

    @Argument(help: "Id of the change to take back.") var id: Int64
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { try options.print(try await $0.revert(change: id)) }
    }
}

extension ClientOptions {
    func print(_ change: OutboxChange) throws {
        try print(change.json, or: change.report(now: .now))
    }
}
