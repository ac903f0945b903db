import Primitives
import TestSupport
import Testing

@testable import Outbox

/// Squashes of random changes, which set few values, and often set them back.
struct SquashHistoryTests {
    private static let values = ["1", "2", nil]

    /// All versions that the origin may have.
    private static let remotes: [[UInt8]?] = {
        var remotes: [[UInt8]?] = [nil, Array("text".utf8), Array("other".utf8)]
        for a in values {
            for b in values {
                for c in values {
                    let members = ["a": a, "b": b, "c": c, "z": "0"].compactMapValues { $0 }
                    remotes.append(FlatObject(members).bytes)
                }
            }
        }
        return remotes
    }()

    @Test("A squash changes the view of no version that the origin may have, in random histories")
    func views() throws {
        var (squashes, refusals) = (0, 0)
        for seed in Seeds.range(0..<400) {
            var random = SplitMix64(seed: seed)
            let changes = try changes(&random)
            let start = Int.random(in: 0...changes.count - 2, using: &random)
            let end = Int.random(in: start + 2...changes.count, using: &random)
            guard let (survivor, cancelled) = try squash(Array(changes[start..<end])) else {
                refusals += 1
                continue
            }
            squashes += 1
            #expect(cancelled.allSatisfy { $0.state == .cancelled })
            let after = changes[..<start] + [survivor] + changes[end...]
            for remote in Self.remotes {
                let views = (FlatObject.view(changes, over: remote), FlatObject.view(after, over: remote))
                #expect(views.0 == views.1, "seed \(seed), over \(String(decoding: remote ?? [], as: UTF8.self))")
            }
        }
        print("\(squashes) squashes, \(refusals) refused")
        #expect(squashes > refusals / 20 && refusals > 0)
    }

    private func squash(_ changes: [Change]) throws -> (survivor: Change, cancelled: [Change])? {
        do throws(OutboxError) {
            var squash = try Squash(changes)
            while let order = try squash.nextMerge(1) { try squash.take(FlatObject.merge(order), OutboxLimits()) }
            return squash.result
        } catch {
            guard case .invalid(.squash) = error else { throw error }
            return nil
        }
    }

    /// Changes of the versions that their authors have seen: the view, an older view, or the origin's version.
    private func changes(_ random: inout SplitMix64) throws -> [Change] {
        let remote = Self.remotes.randomElement(using: &random)!
        var (changes, views): ([Change], [[UInt8]?]) = ([], [remote])
        for id in 1...Int64.random(in: 2...5, using: &random) {
            let isOld = Int.random(in: 0..<4, using: &random) == 0
            let seen = isOld ? views.randomElement(using: &random)! : views[views.count - 1]
            let ours = body(seen, &random)
            guard seen != nil || ours != nil else { continue }
            let seenText = seen.map { String(decoding: $0, as: UTF8.self) }
            var draft =
                try ours.map { try ChangeDraft.put(String(decoding: $0, as: UTF8.self), on: seenText) }
                ?? ChangeDraft.delete(seenText ?? "")
            if Int.random(in: 0..<8, using: &random) == 0 { draft.onConflict = .hold }
            if Int.random(in: 0..<8, using: &random) == 0 { draft.onConflict = .ours }
            changes.append(Change(id: id, draft: draft, created: Timestamp(seconds: 0)))
            views.append(FlatObject.view(changes, over: remote))
        }
        return changes.count > 1 ? changes : try self.changes(&random)
    }

    /// The body that an author makes of a version; `nil`: a deletion.
    private func body(_ seen: [UInt8]?, _ random: inout SplitMix64) -> [UInt8]? {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return nil
        case 1: return Array("text".utf8)
        default: break
        }
        let isObject = seen?.contains(UInt8(ascii: "=")) == true
        var object = isObject ? FlatObject(seen ?? []) : FlatObject(["z": "0"])
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let value = Self.values.randomElement(using: &random)!
            object.members[["a", "b", "c"].randomElement(using: &random)!] = value
        }
        return object.bytes
    }
}
