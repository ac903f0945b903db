import Testing

@testable import Larder

@Suite("The window of kept events")
struct ReplayWindowTests {
    private func words(_ window: ReplayWindow, after place: UInt64 = 0) -> [String]? {
        window.events(after: place, limit: .max)?.events.map(\.event.word)
    }

    private let seal = EventIDSeal()

    private func window(count: Int = 100, bytes: Int = 1 << 20) -> ReplayWindow {
        ReplayWindow(seal: seal, countLimit: count, byteLimit: bytes)
    }

    @Test("The window returns the events after a given place, in pieces, and returns nil for a place beyond its end")
    func places() throws {
        var window = window()
        #expect(window.end == 0)
        for event in TestEvents.failures(0..<5) { window.append(event) }
        #expect(window.end == 5)
        #expect(words(window) == ["0", "1", "2", "3", "4"])
        #expect(words(window, after: 3) == ["3", "4"])
        let piece = try #require(window.events(after: 1, limit: 2))
        #expect(piece.events.map(\.event.word) == ["1", "2"])
        #expect(piece.place == 3)
        #expect(piece.events.map(\.id) == [seal.id(of: 2), seal.id(of: 3)])
        #expect(words(window, after: 5) == [])
        #expect(words(window, after: 6) == nil)
        #expect(words(window, after: .max) == nil)
    }

    @Test(
        "Above its limit the window drops the oldest events; a listener cannot resume before a dropped event",
        arguments: [3, 3000])
    func count(limit: Int) {
        var window = window(count: limit, bytes: .max)
        for event in TestEvents.failures(0..<2 * limit) { window.append(event) }
        let first = UInt64(limit)
        #expect(words(window, after: first - 1) == nil)
        #expect(words(window, after: first)?.count == limit)
        #expect(words(window, after: first)?.first == "\(limit)")
        #expect(words(window, after: 2 * first - 1) == ["\(2 * limit - 1)"])
    }

    @Test("Above its byte limit the window drops the oldest events, but keeps the last event at any length")
    func bytes() {
        var window = window(bytes: 100_000)
        for event in TestEvents.failures(0..<50) { window.append(event) }
        #expect(words(window)?.count == 50)
        window.append(TestEvents.download(.downloadFailed, "long", urlLength: 200_000))
        #expect(words(window, after: 49) == nil)
        #expect(words(window, after: 50) == ["long"])
        window.append(TestEvents.download(.downloadFailed, "short"))
        #expect(words(window, after: 51) == ["short"])
        #expect(words(window, after: 50) == nil)
    }

    @Test("Only the last progress event of each download is kept, and none once the download has ended")
    func progress() {
        var window = window()
        for (kind, key, namespace) in [
            (Event.Kind.downloadStarted, "a", "x"), (.downloadProgress, "a", "x"), (.downloadProgress, "a", "y"),
            (.downloadProgress, "b", "x"), (.downloadProgress, "a", "x"),
        ] {
            window.append(TestEvents.download(kind, key, in: namespace))
        }
        func kept() -> [String] {
            window.events(after: 0, limit: .max)?.events.map {
                "\($0.id.number) \($0.event.kind.rawValue.dropFirst(9)) \($0.event.word) \($0.event.namespace ?? "")"
            } ?? []
        }
        #expect(kept() == ["1 started a x", "3 progress a y", "4 progress b x", "5 progress a x"])
        window.append(TestEvents.download(.downloadSucceeded, "a", in: "x"))
        #expect(kept() == ["1 started a x", "3 progress a y", "4 progress b x", "6 succeeded a x"])
        // The 200 events displace the progress event of `b`, so the next progress event of `b` replaces no event.
        for event in TestEvents.failures(0..<200) { window.append(event) }
        window.append(TestEvents.download(.downloadProgress, "b", in: "x"))
        #expect(words(window, after: window.end - 1) == ["b"])
    }

    @Test("The window finds the place of an id if all later events are kept; otherwise it reports a restart or a gap")
    func comingBack() throws {
        var window = window(count: 3)
        for event in TestEvents.failures(0..<5) { window.append(event) }
        func reason(_ text: String) -> Event.ResetReason? {
            if case .failure(let missed) = window.place(after: text) { return missed }
            return nil
        }
        #expect(try window.place(after: seal.id(of: 3).text).get() == 3)
        // The window has dropped the event with the id 2, but it has all later events.
        #expect(try window.place(after: seal.id(of: 2).text).get() == 2)
        #expect(try window.place(after: window.endID.text).get() == 5)
        #expect(reason(seal.id(of: 1).text) == .gap)
        #expect(reason(seal.id(of: 6).text) == .gap && reason(seal.id(of: .max).text) == .gap)
        #expect(reason(EventIDSeal().id(of: 3).text) == .restart)
        for text in ["", "7", "7-3", "AAAA", "é-1", String(repeating: "A", count: 48)] {
            #expect(reason(text) == .restart, "\(text)")
        }
        let id = window.endID
        window.forget()
        #expect(reason(id.text) == .gap)
        #expect(try window.place(after: window.endID.text).get() == window.end)
        window.append(TestEvents.download(.downloadFailed, "new"))
        #expect(words(window, after: window.end - 1) == ["new"])
    }
}

@Suite("The ids of events")
struct EventIDSealTests {
    @Test("Only the process that made an event id can read the event number in it", arguments: [0, 1, 42, UInt64.max])
    func reading(number: UInt64) {
        let (seal, other) = (EventIDSeal(), EventIDSeal())
        let id = seal.id(of: number)
        #expect(id == seal.id(of: number) && id != other.id(of: number))
        #expect(seal.number(of: id.text) == number)
        #expect(other.number(of: id.text) == nil)
    }

    @Test("An event id with a changed or missing character is invalid")
    func changed() {
        let seal = EventIDSeal()
        let text = Array(seal.id(of: 7).text.utf8)
        for index in text.indices {
            var other = text
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(seal.number(of: String(decoding: other, as: UTF8.self)) == nil)
        }
        #expect(seal.number(of: String(decoding: text.dropLast(), as: UTF8.self)) == nil)
    }

    @Test("Event ids hide the numbers of events and how far apart they are, and have 48 characters of base64url")
    func opaque() {
        let seal = EventIDSeal()
        let texts = (0..<1000).map { seal.id(of: UInt64($0 / 2)).text }
        #expect(Set(texts).count == texts.count)
        #expect(Set(texts.map(\.utf8.count)) == [48])
        #expect(texts.allSatisfy { $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) } })
        // At each position, neighbouring ids have the same character no more often than by chance.
        for place in 0..<48 {
            let same = zip(texts, texts.dropFirst()).count { Array($0.utf8)[place] == Array($1.utf8)[place] }
            #expect(same < 100, "\(place)")
        }
    }
}

@Suite("The backlog of events")
struct EventBacklogTests {
    @Test("The backlog returns events in order, in pieces of at most 1,024 events and a quarter of its byte limit")
    func pieces() {
        var backlog = EventBacklog(byteLimit: 8 << 20)
        backlog.add(TestEvents.failures(0..<3000))
        var words: [String] = []
        var counts: [Int] = []
        while !backlog.isEmpty {
            let piece = backlog.take()
            counts.append(piece.count)
            words += piece.map(\.word)
        }
        #expect(words == (0..<3000).map { "\($0)" })
        #expect(counts == [1024, 1024, 952])
        #expect(backlog.take().isEmpty)
        let long = (0..<8).map { TestEvents.download(.downloadFailed, "\($0)", urlLength: 200_000) }
        backlog.add(long)
        let piece = backlog.take()
        #expect((1..<8).contains(piece.count))
        #expect(piece.count == 1 || piece.reduce(0) { $0 + $1.cost } <= 2 << 20)
        #expect(backlog.takeLoss() == false)
    }

    @Test("The backlog reports lost events once, and an empty backlog takes an event of any length")
    func loss() {
        var backlog = EventBacklog(byteLimit: 10_000)
        backlog.add([TestEvents.download(.downloadFailed, "long", urlLength: 100_000)])
        #expect(backlog.takeLoss() == false)
        backlog.add(TestEvents.failures(0..<1))
        #expect(backlog.takeLoss() == true)
        #expect(backlog.takeLoss() == false)
        #expect(backlog.take().map(\.word) == ["long"])
        backlog.add(TestEvents.failures(0..<5))
        #expect(backlog.takeLoss() == false)
        // The backlog has earlier events when it loses this event, so a reset event takes the place of the lost event.
        backlog.add([TestEvents.download(.downloadFailed, "lost", urlLength: 100_000)])
        _ = backlog.take()
        backlog.add(TestEvents.failures(5..<6))
        #expect(backlog.takeLoss() == false)
        var kinds: [Event.Kind] = []
        while !backlog.isEmpty { kinds += backlog.take().map(\.kind) }
        #expect(kinds.suffix(2) == [.reset, .downloadFailed])
        backlog.add(TestEvents.failures(0..<5))
        #expect(backlog.take().count >= 1)
    }
}
