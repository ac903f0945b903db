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
}
