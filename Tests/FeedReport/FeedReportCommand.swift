import Feeds
import Foundation
import Primitives

/// Parses the feeds of files for scripts/check-feeds. Each line of the standard input is a JSON object with the path of
/// a file, and optionally its `contentType` and `url`. For each line the command prints a line of JSON: the items, or
/// the reason for which the file is refused.
@main
enum FeedReportCommand {
    static func main() throws {
        while let line = readLine() {
            let request = try JSON(parsing: line)
            let path = request["path"]?.stringValue ?? ""
            let body = try Data(contentsOf: URL(filePath: path))
            let outcome = FeedParser.parse(
                Array(body), url: request["url"]?.stringValue, contentType: request["contentType"]?.stringValue)
            print(report(path, outcome).text)
        }
    }

    private static func report(_ path: String, _ outcome: SourceOutcome<Feed>) -> JSON {
        guard let feed = outcome.content else {
            return ["path": .string(path), "refused": .string(outcome.reason ?? "")]
        }
        return [
            "path": .string(path), "format": .string(feed.format.rawValue), "title": .string(orNull: feed.title),
            "items": .array(feed.items.map(item)),
        ]
    }

    private static func item(_ item: FeedItem) -> JSON {
        [
            "id": .string(orNull: item.id), "link": .string(orNull: item.link), "title": .string(orNull: item.title),
            "published": seconds(item.published), "updated": seconds(item.updated),
        ]
    }

    private static func seconds(_ instant: Timestamp?) -> JSON {
        instant.map { .number($0.milliseconds / 1000) } ?? .null
    }
}
