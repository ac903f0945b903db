import Testing

@testable import Larder

@Suite("The filters of events")
struct EventFilterTests {
    @Test(
        "A filter matches the events that meet all its criteria",
        arguments: [
            (EventFilter(), true), (EventFilter(namespaces: ["a", "b"]), true), (EventFilter(namespaces: ["b"]), false),
            (EventFilter(namespaces: []), false), (EventFilter(kinds: [.downloadFailed]), true),
            (EventFilter(kinds: [.entryStored, .downloadStarted]), false), (EventFilter(key: "k"), true),
            (EventFilter(key: "K"), false), (EventFilter(tag: "two"), true), (EventFilter(tag: "three"), false),
            (EventFilter(namespaces: ["a"], kinds: [.downloadFailed], key: "k", tag: "one"), true),
            (EventFilter(namespaces: ["a"], kinds: [.downloadFailed], key: "k", tag: "x"), false),
        ])
    func single(filter: EventFilter, isWanted: Bool) {
        let event = TestEvents.download(.downloadFailed, "k", in: "a", tags: ["one", "two"])
        #expect(filter.matches(event) == isWanted)
    }

    @Test("A filter compares keys and tags by their bytes")
    func bytes() {
        let event = TestEvents.download(.downloadFailed, "\u{e9}", tags: ["\u{e9}"])
        #expect(EventFilter(key: "\u{e9}", tag: "\u{e9}").matches(event))
        #expect(!EventFilter(key: "e\u{301}").matches(event))
        #expect(!EventFilter(tag: "e\u{301}").matches(event))
    }

    @Test("An event that only counts entries matches a filter of any key or tag, but not of another namespace or type")
    func others() {
        let event = TestEvents.removal(of: 5, in: "a")
        #expect(EventFilter(namespaces: ["a"], kinds: [.entryRemoved], key: "k", tag: "t").matches(event))
        #expect(!EventFilter(namespaces: ["b"]).matches(event))
        #expect(!EventFilter(kinds: [.entryExpired]).matches(event))
    }

    @Test("A reset event matches every filter")
    func reset() {
        let filter = EventFilter(namespaces: [], kinds: [], key: "k", tag: "t")
        #expect(filter.matches(Event(reset: .gap, at: TestEvents.time)))
    }
}
