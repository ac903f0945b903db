import Foundation
import JSONEdits
import LarderClient
import Primitives

/// The versions of a change, for a decision about a conflict: the members of JSON that differ, and other bodies as a
/// whole.
struct ChangeVersions {
    typealias Version = OutboxChange.Version

    /// A place in the document at which the versions differ.
    struct Difference: Equatable {
        var place: JSONPointer
        /// `clash`, `ours`, `theirs` or `both`.
        var verdict: String
        /// Each value is `nil` if the version lacks it. Without a conflict there is no theirs.
        var base: JSON?
        var ours: JSON?
        var theirs: JSON?
    }

    enum Content: Equatable {
        /// `more` is the number of further differences.
        case members([Difference], more: Int)
        case whole([Body])
    }

    struct Body: Equatable {
        /// `base`, `ours` or `theirs`.
        var name: String
        var version: Version
    }

    let content: Content
    private let hasTheirs: Bool
    private static let differenceLimit = 1000
    private static let shownLines = 20

    /// `nil` for a change of a list, which has no versions.
    init?(_ change: OutboxChange) {
        guard let ours = change.ours else { return nil }
        hasTheirs = change.theirs != nil
        let versions = [("base", change.seen), ("ours", ours), ("theirs", change.theirs)] as [(String, Version?)]
        let bodies = versions.compactMap { name, version in version.map { Body(name: name, version: $0) } }
        content = Self.compared(base: change.seen, ours: ours, theirs: change.theirs) ?? .whole(bodies)
    }

    /// `nil` if one of the bodies is no JSON, or if there are no two versions to compare.
    private static func compared(
        base: Version?, ours: Version, theirs: Version?
    ) -> Content? {
        guard let base = base.map(Side.init), let ours = Side(ours).document else { return nil }
        guard let theirs else {
            guard case .document(let before?) = base, let after = ours else { return nil }
            let difference = JSONDifference(from: before, to: after, limit: differenceLimit)
            let rows = difference.changes.map {
                Difference(place: $0.pointer, verdict: "ours", base: $0.before, ours: $0.after)
            }
            return .members(rows, more: difference.more)
        }
        guard let theirs = Side(theirs).document, let base = base.mergeBase else { return nil }
        let comparison = ThreeWayComparison(base: base, ours: ours, theirs: theirs, limit: differenceLimit)
        let rows = comparison.rows.map {
            Difference(
                place: $0.pointer, verdict: $0.verdict.rawValue, base: $0.base, ours: $0.ours, theirs: $0.theirs)
        }
        return .members(rows, more: comparison.more)
    }

    /// A version, as a comparison of JSON needs it.
    private enum Side {
        /// `nil`: there is no resource.
        case document(JSON?)
        case unknown
        /// The body is no JSON.
        case other

        init(_ version: Version) {
            switch version {
            case .absent: self = .document(nil)
            case .unknown: self = .unknown
            case .body(let bytes):
                let json = try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit)
                self = json.map { .document($0) } ?? .other
            }
        }

        /// `nil` if there is no document to compare; `.some(nil)` if there is no resource.
        var document: JSON?? { if case .document(let json) = self { .some(json) } else { nil } }

        var mergeBase: MergeBase<JSON>? {
            switch self {
            case .document(let json): json.map(MergeBase.value) ?? .missing
            case .unknown: .unknown
            case .other: nil
            }
        }
    }
}

extension ChangeVersions {
    /// On a terminal, an indented block for each difference or body, with lines of at most `width` columns. Elsewhere a
    /// line for each, with its parts separated by tabs: `member`, the place, the verdict, and the values of base, ours
    /// and theirs; or `version`, its name, and the body.
    func lines(forTerminal: Bool, width: Int) -> [String] {
        switch content {
        case .members(let rows, let more):
            let lines = rows.flatMap { forTerminal ? shown($0, width: width) : [Self.line($0)] }
            let rest = "\(more) more members differ"
            return more == 0 ? lines : lines + [forTerminal ? rest : "more\t\(more)"]
        case .whole(let bodies):
            return bodies.flatMap { forTerminal ? Self.shown($0, width: width) : ["version\t\($0.name)\t\($0.plain)"] }
        }
    }

    private static func line(_ row: Difference) -> String {
        let values = [row.base, row.ours, row.theirs].map { $0.map(LogText.json) ?? "" }
        return (["member", LogText.words(row.place.description), row.verdict] + values).joined(separator: "\t")
    }

    private func shown(_ row: Difference, width: Int) -> [String] {
        let place = row.place.tokens.isEmpty ? "the whole document" : LogText.words(row.place.description)
        var sides = [("base", row.base), ("ours", row.ours)]
        if hasTheirs { sides.append(("theirs", row.theirs)) }
        let title = place.shortened(toColumns: max(1, width - row.verdict.count - 2)) + "  " + row.verdict
        return [title.prefix(columns: width)]
            + sides.map { name, value in
                Self.side(name, value.map(LogText.json) ?? "(none)", width: width)
            }
    }

    private static func shown(_ body: Body, width: Int) -> [String] {
        guard case .body(let bytes) = body.version, let text = String(validating: bytes, as: UTF8.self) else {
            return [side(body.name, body.words, width: width)]
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { LogText.words(String($0)) }
        let rest = lines.count - shownLines
        return ["  \(body.name)".prefix(columns: width)]
            + lines.prefix(shownLines).map { "    \($0)".shortened(toColumns: width) }
            + (rest > 0 ? ["    (\(rest) more lines)".prefix(columns: width)] : [])
    }

    private static func side(_ name: String, _ value: String, width: Int) -> String {
        let front = "  " + name.padding(toLength: 8, withPad: " ", startingAt: 0)
        return (front + value.shortened(toColumns: max(1, width - front.count))).prefix(columns: width)
    }
}

extension ChangeVersions.Body {
    /// The body of a version in one line, or words in parentheses.
    fileprivate var plain: String {
        guard case .body(let bytes) = version, let text = String(validating: bytes, as: UTF8.self) else { return words }
        return LogText.words(text)
    }

    fileprivate var words: String {
        switch version {
        case .body(let bytes): "(\(Words.bytes(Int64(bytes.count))), not UTF-8)"
        case .absent: "(no resource)"
        case .unknown: "(unknown)"
        }
    }
}
