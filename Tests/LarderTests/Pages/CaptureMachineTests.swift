import TestSupport
import Testing
import WebArchive

@testable import Larder

@Suite("The order and the limits of a static capture")
struct CaptureMachineTests {
    private static func url(_ path: String, host: String = "h") -> WebURL { WebURL("http://\(host).example/\(path)")! }
    private static func found(_ path: String, _ kind: Reference.Kind, host: String = "h") -> CaptureMachine.Found {
        .init(url: url(path, host: host), kind: kind)
    }

    private static func limits(_ change: (inout CaptureLimits) -> Void = { _ in }) -> CaptureLimits {
        var limits = CaptureLimits()
        change(&limits)
        return limits
    }

    private static func fetched(_ actions: [CaptureMachine.Action], _ machine: CaptureMachine) -> [String] {
        actions.map { action in
            switch action {
            case .fetch(let index, _): String(machine.resources[index].url.path.dropFirst())
            case .cancel(let index): "cancel " + machine.resources[index].url.path.dropFirst()
            case .finish(let outcome): "finish \(outcome)"
            }
        }
    }

    @Test("The page comes first, then style sheets and frames, then images, then media; each URL once")
    func order() {
        var limits = CaptureLimits()
        limits.fetches = 2
        var machine = CaptureMachine(Self.url("page"), limits: limits)
        #expect(Self.fetched(machine.start(), machine) == ["page"])
        let found = [
            Self.found("v", .media), Self.found("i", .image), Self.found("s", .style), Self.found("i", .image),
            Self.found("a", .link), Self.found("f", .frame),
        ]
        #expect(Self.fetched(machine.handle(.answered(0, status: 200, bytes: 9, found: found)), machine) == ["s", "f"])
        let sheet = machine.handle(
            .answered(3, status: 200, bytes: 9, found: [Self.found("font", .css), Self.found("i", .css)]))
        #expect(Self.fetched(sheet, machine) == ["font"])
        #expect(Self.fetched(machine.handle(.answered(4, status: 200, bytes: 9, found: [])), machine) == ["i"])
        #expect(Self.fetched(machine.handle(.answered(5, status: 404, bytes: 0, found: [])), machine) == ["v"])
        #expect(machine.handle(.answered(2, status: 200, bytes: 9, found: [])) == [])
        #expect(
            Self.fetched(machine.handle(.answered(1, status: 200, bytes: 9, found: [])), machine) == ["finish complete"]
        )
        #expect(machine.bytes == 45)
        #expect(machine.resources[5].state == .captured(status: 404))
    }

    @Test("A failure that may pass is tried once more, and a resource that stays missing makes the capture partial")
    func failures() {
        var machine = CaptureMachine(Self.url("page"))
        _ = machine.start()
        #expect(Self.fetched(machine.handle(.failed(0, .failed("t"), mayPass: true)), machine) == ["page"])
        #expect(
            Self.fetched(machine.handle(.answered(0, status: 200, bytes: 1, found: [Self.found("i", .image)])), machine)
                == ["i"])
        #expect(Self.fetched(machine.handle(.failed(1, .failed("t"), mayPass: true)), machine) == ["i"])
        #expect(Self.fetched(machine.handle(.failed(1, .failed("t"), mayPass: true)), machine) == ["finish partial"])
        #expect(machine.resources[1].state == .missing(.failed("t")))
    }

    @Test("A page that cannot be fetched makes the capture fail")
    func failedPage() {
        var machine = CaptureMachine(Self.url("page"))
        _ = machine.start()
        #expect(machine.handle(.failed(0, .failed("x"), mayPass: false)) == [.finish(.failed)])
        #expect(machine.handle(.answered(0, status: 200, bytes: 1, found: [])) == [])
    }

    @Test("Redirects are followed and captured, up to the limit; a circle of the page's redirects fails")
    func redirects() {
        var machine = CaptureMachine(Self.url("page"))
        _ = machine.start()
        #expect(Self.fetched(machine.handle(.redirected(0, status: 302, to: Self.url("b"))), machine) == ["b"])
        #expect(machine.page == 1)
        #expect(machine.handle(.redirected(1, status: 301, to: Self.url("page"))) == [.finish(.failed)])

        machine = CaptureMachine(Self.url("0"))
        _ = machine.start()
        var last: [CaptureMachine.Action] = []
        for number in 0...10 { last = machine.handle(.redirected(number, status: 302, to: Self.url("\(number + 1)"))) }
        #expect(last == [.finish(.failed)])
        #expect(machine.resources.count == 11)

        machine = CaptureMachine(Self.url("page"))
        _ = machine.start()
        _ = machine.handle(.answered(0, status: 200, bytes: 1, found: [Self.found("i", .image)]))
        #expect(
            Self.fetched(machine.handle(.redirected(1, status: 302, to: Self.url("page"))), machine) == [
                "finish complete"
            ])
    }

    @Test("Frames, imports, resources and bytes beyond a limit are left out, and the capture is partial")
    func limits() {
        var machine = CaptureMachine(Self.url("page"), limits: Self.limits { $0.frameDepth = 1 })
        _ = machine.start()
        _ = machine.handle(.answered(0, status: 200, bytes: 1, found: [Self.found("f", .frame)]))
        let inner = machine.handle(
            .answered(1, status: 200, bytes: 1, found: [Self.found("g", .frame), Self.found("i", .image)]))
        #expect(Self.fetched(inner, machine) == ["i"])
        #expect(machine.handle(.answered(2, status: 200, bytes: 1, found: [])) == [.finish(.partial)])

        machine = CaptureMachine(Self.url("page"), limits: Self.limits { $0.styleDepth = 1 })
        _ = machine.start()
        _ = machine.handle(.answered(0, status: 200, bytes: 1, found: [Self.found("s", .style)]))
        _ = machine.handle(.answered(1, status: 200, bytes: 1, found: [Self.found("t", .style)]))
        #expect(
            machine.handle(.answered(2, status: 200, bytes: 1, found: [Self.found("u", .style)])) == [.finish(.partial)]
        )

        machine = CaptureMachine(Self.url("page"), limits: Self.limits { $0.resources = 2 })
        _ = machine.start()
        _ = machine.handle(
            .answered(0, status: 200, bytes: 1, found: [Self.found("a", .image), Self.found("b", .image)]))
        #expect(machine.handle(.answered(1, status: 200, bytes: 1, found: [])) == [.finish(.partial)])

        machine = CaptureMachine(Self.url("page"), limits: Self.limits { $0.totalBytes = 100 })
        #expect(machine.start() == [.fetch(0, limit: 100)])
        let images = [Self.found("a", .image), Self.found("b", .image)]
        #expect(
            machine.handle(.answered(0, status: 200, bytes: 60, found: images)) == [
                .fetch(1, limit: 40), .fetch(2, limit: 40),
            ])
        #expect(machine.handle(.answered(1, status: 200, bytes: 40, found: [])) == [])
        #expect(machine.handle(.answered(2, status: 200, bytes: 40, found: [])) == [.finish(.partial)])
    }

    @Test("The end of the time keeps the captured resources, and a cancelled capture cancels its fetches")
    func ends() {
        for (event, outcome) in [(CaptureMachine.Event.timeLimitReached, "partial"), (.cancelled, "cancelled")] {
            var machine = CaptureMachine(Self.url("page"))
            _ = machine.start()
            _ = machine.handle(.answered(0, status: 200, bytes: 1, found: [Self.found("i", .image)]))
            #expect(Self.fetched(machine.handle(event), machine) == ["cancel i", "finish \(outcome)"])
        }
        var machine = CaptureMachine(Self.url("page"))
        _ = machine.start()
        #expect(machine.handle(.timeLimitReached) == [.cancel(0), .finish(.failed)])
    }

    @Test("While a browser shows the page, only the URLs that the browser demands are fetched, and then the others")
    func showing() {
        var machine = CaptureMachine(Self.url("page"), isShown: true)
        #expect(machine.start() == [])
        #expect(Self.fetched(machine.handle(.demanded(Self.found("page", .frame))), machine) == ["page"])
        let named = [Self.found("i", .image), Self.found("2x", .image)]
        #expect(machine.handle(.answered(0, status: 200, bytes: 1, found: named)) == [])
        #expect(Self.fetched(machine.handle(.demanded(Self.found("data", .request))), machine) == ["data"])
        #expect(Self.fetched(machine.handle(.demanded(Self.found("i", .image))), machine) == ["i"])
        // The second demand for a URL waits for the first.
        #expect(machine.handle(.demanded(Self.found("i", .image))) == [])
        #expect(machine.handle(.answered(3, status: 200, bytes: 1, found: [])) == [])
        #expect(machine.handle(.answered(1, status: 200, bytes: 1, found: [])) == [])
        let shown = machine.handle(.shown(page: nil, found: [Self.found("late", .image)], isWhole: true))
        #expect(Self.fetched(shown, machine) == ["2x", "late"])
        #expect(machine.handle(.answered(2, status: 200, bytes: 1, found: [])) == [])
        #expect(
            Self.fetched(machine.handle(.answered(4, status: 200, bytes: 1, found: [])), machine) == ["finish complete"]
        )
    }

    @Test("The last document that the browser showed is the page, and a page that did not come to rest is partial")
    func shownPage() {
        var machine = CaptureMachine(Self.url("page"), isShown: true)
        _ = machine.start()
        _ = machine.handle(.demanded(Self.found("page", .frame)))
        _ = machine.handle(.answered(0, status: 200, bytes: 1, found: []))
        _ = machine.handle(.demanded(Self.found("next", .frame)))
        _ = machine.handle(.answered(1, status: 200, bytes: 1, found: []))
        let end = machine.handle(.shown(page: 1, found: [], isWhole: false))
        #expect((Self.fetched(end, machine), machine.page, machine.isCut) == (["finish partial"], 1, true))
    }

    @Test("A capture fails if its page must be shown and cannot be shown")
    func showingFailed() {
        var machine = CaptureMachine(Self.url("page"), isShown: true)
        _ = machine.start()
        let end = machine.handle(.showingFailed(.failed("no browser")))
        #expect(end == [.finish(.failed)])
        #expect(machine.handle(.demanded(Self.found("page", .frame))) == [])
    }

    @Test("Any order of answers ends, within all limits, and fetches each URL at most twice", arguments: 1...200)
    func randomly(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        let limits = Self.limits {
            $0.resources = 60
            $0.totalBytes = 5000
            $0.fetches = 1 + below(6)
            $0.fetchesPerHost = 1 + below(3)
            $0.redirects = below(4)
        }
        var machine = CaptureMachine(Self.url("0"), limits: limits)
        var running: [Int] = []
        var fetches: [Int: Int] = [:]
        var steps = 0
        func take(_ actions: [CaptureMachine.Action]) {
            for action in actions {
                switch action {
                case .fetch(let index, let limit):
                    running.append(index)
                    fetches[index, default: 0] += 1
                    #expect(limit >= 0 && limit <= limits.totalBytes)
                case .cancel(let index): running.removeAll { $0 == index }
                case .finish: #expect(running.isEmpty)
                }
            }
        }
        take(machine.start())
        while machine.outcome == nil, steps < 1000 {
            steps += 1
            #expect(running.count <= limits.fetches)
            let hosts = Dictionary(grouping: running) { machine.resources[$0].url.origin }
            #expect(hosts.values.allSatisfy { $0.count <= limits.fetchesPerHost })
            let index = running.remove(at: below(running.count))
            let event: CaptureMachine.Event =
                switch below(20) {
                case 0...10:
                    .answered(
                        index, status: 200, bytes: Int64(below(150)),
                        found: (0..<below(5)).map { _ in
                            Self.found(
                                "\(below(80))", Reference.Kind.allCases[below(Reference.Kind.allCases.count)],
                                host: "h\(below(3))")
                        })
                case 11...14: .redirected(index, status: 302, to: Self.url("\(below(80))", host: "h\(below(3))"))
                case 15...18: .failed(index, .failed("x"), mayPass: below(2) == 0)
                default: below(30) == 0 ? .timeLimitReached : .answered(index, status: 500, bytes: 0, found: [])
                }
            if case .timeLimitReached = event { running.append(index) }
            take(machine.handle(event))
        }
        #expect(machine.outcome != nil)
        #expect(running.isEmpty)
        #expect(fetches.values.allSatisfy { $0 <= 2 })
        #expect(machine.resources.count <= limits.resources)
        #expect(machine.resources.allSatisfy { $0.state != .waiting && $0.state != .running })
    }

    @Test("A capture that was cancelled before its start ends once")
    func cancelledBeforeStart() {
        var machine = CaptureMachine(WebURL("https://h.example/")!)
        #expect(machine.handle(.cancelled) == [.finish(.cancelled)])
        #expect(machine.start() == [])
    }
}
