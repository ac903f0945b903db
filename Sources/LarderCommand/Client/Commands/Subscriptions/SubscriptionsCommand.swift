import ArgumentParser
import Foundation
import LarderClient

/// `larder subscriptions`: the subscriptions of a namespace. Without a subcommand, lists them.
struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions", abstract: "List, show, refresh and remove subscriptions.",
        subcommands: [
            SubscriptionListCommand.self, SubscriptionShowCommand.self, SubscriptionItemsCommand.self,
            SubscriptionRefreshCommand.self, SubscriptionRemoveCommand.self,
        ], defaultSubcommand: SubscriptionListCommand.self)
}

struct SubscriptionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List subscriptions. This is the default.",
        discussion: """
            On a terminal, lines fit its width. Elsewhere, and with --json, lines are complete, and have the columns \
            name, state, refreshing, generation, held, wanted, missing, date of the oldest copy, date of the next \
            refresh, and source.
            """)

    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var output = ListOutput(options)
            let (subscriptions, now) = (try await client.subscriptions(), Date())
            try output.print(
                subscriptions, json: \.json, titles: HeldSubscription.shownTitles, shown: { $0.shownCells(now: now) },
                cells: { $0.cells(now: now) })
        }
    }
}

struct SubscriptionShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a subscription and its missing resources.")

    @Argument(help: "Name of the subscription.") var name: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let (subscription, now) = (try await client.subscription(name), Date())
            try options.print(subscription.json, or: subscription.report(now: now))
            guard !options.json else { return }
            try subscription.missingTable(now: now, forTerminal: Console.output.isTerminal).print()
        }
    }
}

struct SubscriptionItemsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "items", abstract: "List the resources of a subscription.",
        discussion: """
            On a terminal, lines fit its width. Elsewhere, and with --json, lines are complete, and have the columns \
            key, held, date of the last confirmation, URL, problem and date of the problem.
            """)

    @Argument(help: "Name of the subscription.") var name: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var output = ListOutput(options)
            try await client.items(ofSubscription: name) { items in
                let now = Date()
                try output.print(
                    items, json: \.json, titles: SubscriptionItem.shownTitles, shown: { $0.shownCells(now: now) },
                    cells: { $0.cells(now: now) })
            }
        }
    }
}

struct SubscriptionRefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Refresh a subscription now.",
        discussion: """
            With --wait, returns after the end of the refresh. Exit status with --wait: 0 if the set is complete, \
            \(ExitStatus.partial.rawValue) if resources are missing, \(ExitStatus.failed.rawValue) if the source \
            cannot be read or the set has no room.
            """)

    @Argument(help: "Name of the subscription.") var name: String
    @Flag(help: "Wait for the end of the refresh.") var wait = false
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let started = try await client.refresh(subscription: name)
            guard wait else { return try options.print(started.json, or: started.report(now: .now)) }
            try await client.showRefresh(of: name, options)
        }
    }
}

struct SubscriptionRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a subscription and the resources that it holds.",
        discussion: "Resources that another subscription holds stay.")

    @Argument(help: "Name of the subscription.") var name: String
    @Flag(help: "Keep the resources, which are ordinary entries from then on.") var keep = false
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            try await client.remove(subscription: name, keepsEntries: keep)
            var report = Report()
            report.add("removed", "1")
            try options.print(["removed": 1], or: report)
        }
    }
}
