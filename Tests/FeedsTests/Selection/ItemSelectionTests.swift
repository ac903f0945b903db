import Primitives
import Testing

@testable import Feeds

@Suite("Identity and selection of items")
struct ItemSelectionTests {
    private let now = Timestamp(seconds: 1_000_000)

    private func item(_ id: String?, _ link: String? = nil, at seconds: Int64? = nil, digest: String = "") -> FeedItem {
        FeedItem(id: id, link: link, published: seconds.map { Timestamp(seconds: $0) }, digest: digest)
    }

    @Test("The identity of an item is its id, else its link, else its digest")
    func identity() {
        #expect(ItemIdentity(item("a", "http://h.example/", digest: "d")).description == "id:a")
        #expect(ItemIdentity(item("", "HTTP://h.example/%61", digest: "d")).description == "link://h.example/a")
        #expect(ItemIdentity(item(nil, digest: "d")).description == "digest:d")
    }

    @Test("Ids that changed from http to https are the same")
    func scheme() {
        #expect(ItemIdentity(item("http://h.example/1")) == ItemIdentity(item("HTTPS://h.example/1")))
        #expect(ItemIdentity(item("http://h.example/1")) != ItemIdentity(item("ftp://h.example/1")))
    }

    @Test("The latest items are chosen by date, then by position, and undated ones last")
    func latest() {
        let items = [item("a", at: 5), item("b"), item("c", at: 9), item("d", at: 5), item("e")]
        #expect(ItemSelection.latest(nil, of: items, now: now).map(\.id) == ["c", "a", "d", "b", "e"])
        #expect(ItemSelection.latest(2, of: items, now: now).map(\.id) == ["c", "a"])
        #expect(ItemSelection.latest(0, of: items, now: now).isEmpty)
    }

    @Test("Items dated 2099 count as items of now, so that their position decides")
    func future() {
        let items = [item("new", at: 1_000_000), item("2099", at: 4_070_908_800), item("old", at: 1)]
        #expect(ItemSelection.latest(2, of: items, now: now).map(\.id) == ["new", "2099"])
    }

    @Test("Each identity is chosen once, with its latest item")
    func duplicates() {
        let items = [item("http://h.example/1", at: 1), item("b", at: 2), item("https://h.example/1", at: 3)]
        #expect(ItemSelection.latest(nil, of: items, now: now).map(\.id) == ["https://h.example/1", "b"])
    }

    @Test("An item dated 2099 does not stay before all others for ever, but counts as published when first listed")
    func overtaken() {
        var (dates, items) = (FutureDates(), [item("2099", at: 4_070_908_800), item("old", at: 1)])
        func latest(_ now: Timestamp) -> [String?] {
            dates.note(items.map { (ItemIdentity($0).description, $0.date) }, now: now)
            return ItemSelection.latest(2, of: items, now: now, futureDates: dates).map(\.id)
        }
        #expect(latest(now) == ["2099", "old"])
        items.append(item("new", at: 1_000_100))
        #expect(latest(now + .seconds(200)) == ["new", "2099"])
        items.append(item("newer", at: 1_000_300))
        #expect(latest(now + .seconds(400)) == ["newer", "new"])
        // A clock that goes back makes the first listing no later than now.
        #expect(latest(now - .seconds(86_400)).contains("2099"))
        #expect(dates.firstListed.values.allSatisfy { $0 <= now - .seconds(86_400) })
        items = [item("old", at: 1)]
        _ = latest(now)
        #expect(dates.firstListed.isEmpty)
    }

    @Test("Only a bounded number of items from the future is remembered")
    func manyFutures() {
        var dates = FutureDates()
        dates.note((0..<2 * FutureDates.limit).map { ("\($0)", Timestamp(seconds: 4_070_908_800)) }, now: now)
        #expect(dates.firstListed.count == FutureDates.limit)
    }

    @Test("An item that is listed under an old and a new id takes one place when only the links count")
    func links() {
        let items = [
            item("2", "http://h.example/a", at: 9), item("1", "http://h.example/a", at: 8), item("x", at: 7),
            item("3", "http://h.example/b", at: 6),
        ]
        #expect(ItemSelection.latest(2, of: items, now: now).map(\.id) == ["2", "1"])
        #expect(ItemSelection.latest(2, of: items, now: now, countsLinks: true).map(\.id) == ["2", "3"])
    }
}
