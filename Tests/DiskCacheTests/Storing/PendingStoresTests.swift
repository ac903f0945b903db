import Primitives
import Testing

@testable import DiskCache

@Suite("Running stores")
struct PendingStoresTests {
    private let url = "https://example.com/a"

    /// In one table with the fetches, the stores of 64 callers took a third of the writer's instructions.
    @Test("A purge by key examines no running store of a caller's own body")
    func ownBodies() throws {
        let stores = PendingStores()
        let key = CacheKey.url(canonical: url)
        let fetched = PendingStore(key: key, kind: .download, url: url, tags: [])
        let scope = PurgeScope(filter: EntryFilter(key: try CacheKey.data("new").text), tags: nil)
        _ = stores.begin(fetched)
        let alone = quickest { _ = stores.purge([scope]) }
        var numbers: [Int] = []
        for number in 0..<20_000 {
            let key = try CacheKey.data("own-\(number)")
            numbers.append(stores.begin(PendingStore(key: key, kind: .data, url: nil, tags: [])))
        }
        // With one table, the second time is thousands of times the first.
        let besideOwn = quickest { _ = stores.purge([scope]) }
        #expect(besideOwn < alone * 100 + .microseconds(100))
        #expect(numbers.allSatisfy { stores.store($0)?.purged.isSet == false })
        _ = stores.purge([PurgeScope(filter: EntryFilter(key: key.text), tags: nil)])
        #expect(fetched.purged.isSet)
        for number in numbers { stores.end(number) }
        #expect(stores.store(numbers[0]) == nil)
    }

    private func quickest(_ work: () -> Void) -> Duration {
        (0..<9).map { _ in ContinuousClock().measure(work) }.min()!
    }
}
