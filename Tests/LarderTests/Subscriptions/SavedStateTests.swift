import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Subscriptions

@Suite("The state of subscriptions in the store")
struct SavedStateTests {
    private static let definition = Result {
        try SubscriptionDefinition(
            name: "set", ["source": ["feed": "http://h.example/feed"], "interval": "1h", "allowShrink": true])
    }

    /// A set with a store, and with answers of origins and of the cache at random.
    private struct History {
        var random: SplitMix64
        let store: SubscriptionStore
        let set: HeldSet
        var now = Timestamp(seconds: 1_800_000_000)
        var listed = (0..<20).map { "http://h\($0 % 3).example/\($0)" }
        var requests: [RefreshMachine.MemberRequest] = []
        var switchCount = 0

        init(seed: UInt64, directory: String) throws {
            random = SplitMix64(seed: seed)
            store = try SubscriptionStore(directory: directory)
            let definition = try SavedStateTests.definition.get()
            let id = try store.put(definition, in: "default", isNew: true, now: now)
            let record = SubscriptionRecord(
                id: id, namespace: "default", definition: definition,
                source: SourceState(RefreshMachine.State(members: [], sourceDue: now, date: now)))
            set = HeldSet(record, spaceID: 0, members: [], copies: [:], generation: 1, now: now)
        }

        mutating func chance(_ whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) == 0 }

        mutating func step() {
            now = chance(40) ? now - .seconds(86_400) : now + .seconds(Int.random(in: 0...300, using: &random))
            set.machine.observe(now)
            if let date = set.machine.nextDate, date <= now { perform(.time) }
            if chance(30) { perform(.refreshRequested) }
            if chance(30) { perform(.hostPaused(host: "h0.example:80", until: now + .seconds(900))) }
            if chance(40) { perform(.accessLost(reason: "no secret", lookDate: now + .seconds(60))) }
            if chance(5) { perform(.accessRegained) }
            if chance(60) { perform(.secretChanged) }
            if set.machine.sourceIsDue(at: now) {
                set.machine.beginSource()
                if chance(3) { listed.shuffle(using: &random) }
                let items = listed.prefix(Int.random(in: 15...20, using: &random)).compactMap { WantedItem(url: $0) }
                perform(.sourceAnswered(chance(5) ? .failed(reason: "503", pause: nil) : .items(items, least: .zero)))
            }
            while let (host, date) = set.machine.nextTurn(), date <= now {
                guard let request = set.machine.beginMember(ofHost: host, at: now) else { break }
                requests.append(request)
            }
            while !requests.isEmpty, !chance(4) {
                let request = requests.removeFirst()
                let answers: [MemberAnswer] = [
                    .staged(isChanged: true, least: .zero), .staged(isChanged: false, least: .seconds(100)),
                    .confirmed(least: .zero), .failed(reason: "503", pause: nil), .gone(reason: "404", forever: false),
                    .forbidden(reason: "403"), .refused(reason: "400"), .noRoomAlone(reason: "no room"),
                ]
                let answer = chance(50) ? .noRoom : answers.randomElement(using: &random)!
                perform(.memberAnswered(key: request.item.key, ticket: request.ticket, answer))
            }
        }

        mutating func perform(_ event: RefreshMachine.Event) {
            for action in set.machine.handle(event, at: now, random: 0.5) {
                guard case .publish(let kept, let changed, _) = action else { continue }
                if chance(8) {
                    perform(.switchFailed(isRoom: chance(2)))
                    continue
                }
                switchCount += 1
                for key in changed { set.confirmed[key] = now }
                let lost = (kept + changed).filter { _ in chance(20) }
                perform(.switched(lost: Dictionary(uniqueKeysWithValues: lost.map { ($0, MemberLoss("lost")) })))
            }
        }
    }

    @Test("After each save the store has the state of all members, also if the save before has failed")
    func histories() throws {
        for seed in Seeds.range(1..<5) {
            let temporary = try TemporaryDirectory("larder-saved-state")
            var history = try History(seed: seed, directory: temporary.path("state"))
            defer { history.store.close() }
            var (partCount, saveCount) = (0, 0)
            for _ in 0..<1500 {
                history.step()
                guard history.chance(3) else { continue }
                let changes = history.set.unsavedChanges()
                if history.chance(5) { continue }
                try history.store.save(
                    history.set.id, changes.source, changed: changes.changed, removed: changes.removed)
                history.set.didSave(changes)
                let stored = try history.store.members(of: history.set.id)
                let records = Dictionary(uniqueKeysWithValues: stored.map { ($0.member.item.key, $0) })
                guard records == history.set.records else {
                    Issue.record("seed \(seed): the store differs")
                    break
                }
                saveCount += 1
                if (1..<10).contains(changes.changed.count) { partCount += 1 }
            }
            #expect(history.switchCount > 20 && saveCount > 200 && partCount > 50, "seed \(seed)")
        }
    }
}
