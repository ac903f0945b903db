import Primitives
import Testing

@testable import Subscriptions

@Suite("Definitions of subscriptions")
struct SubscriptionTests {
    private func read(_ text: String) throws -> Subscription {
        try Subscription(name: "news", JSON(parsing: text))
    }

    @Test(
        "Each kind of source is read, and written back with its defaults",
        arguments: [
            (
                #"{"urls": ["HTTP://a.example:80/x", "https://b.example"]}"#,
                #"{"urls":["http://a.example/x","https://b.example/"]}"#
            ),
            (#"{"feed": "https://a.example/rss"}"#, #"{"feed":"https://a.example/rss","enclosures":false}"#),
            (
                #"{"enclosures": true, "feed": "https://a.example/"}"#,
                #"{"feed":"https://a.example/","enclosures":true}"#
            ),
            (#"{"sitemap": "https://a.example/map.xml"}"#, #"{"sitemap":"https://a.example/map.xml"}"#),
            (#"{"pages": "https://a.example/api"}"#, #"{"pages":"https://a.example/api","next":"link","items":""}"#),
            (
                #"{"pages": "https://a.example/api", "next": "/links/next", "items": "/data"}"#,
                #"{"pages":"https://a.example/api","next":"/links/next","items":"/data"}"#
            ),
            (#"{"capture": ["https://a.example/"]}"#, #"{"capture":["https://a.example/"]}"#),
        ])
    func sources(_ text: String, _ expected: String) throws {
        let subscription = try read(#"{"source": \#(text)}"#)
        #expect(subscription.source.json.text == expected)
        #expect(try Subscription(name: "news", subscription.json) == subscription)
    }

    @Test("Without further members a definition has the defaults")
    func defaults() throws {
        let subscription = try read(#"{"source": {"feed": "https://a.example/"}, "latest": null}"#)
        #expect(subscription.latest == nil && subscription.interval == .fixed(.seconds(3600)))
        #expect(subscription.pacing == PacingLimits(concurrency: 1, gap: .seconds(1)))
        #expect(subscription.maxDelay == .seconds(300) && subscription.ttl == nil && !subscription.allowsShrink)
        #expect(subscription.rules == RefreshMachine.Rules(name: "news", interval: .fixed(.seconds(3600))))
    }

    @Test("All members are read, and written back")
    func all() throws {
        let subscription = try read(
            """
            {"source": {"feed": "https://a.example/"}, "latest": 50, "adaptive": {"min": "5m", "max": 86400}, "ttl": "1h",
             "concurrencyPerHost": 2, "minGap": 0.5, "quietHours": "22:00-06:00", "maxDelay": 60, "allowShrink": true,
             "headers": {"Accept-Language": "de"}, "credential": "news", "tags": ["a", "b"]}
            """)
        #expect(subscription.interval == .adaptive(min: .seconds(300), max: .seconds(86_400)))
        #expect(subscription.pacing == PacingLimits(concurrency: 2, gap: .milliseconds(500)))
        #expect(subscription.headers == [.init(name: "accept-language", value: "de")])
        #expect(subscription.rules.quietHours?.text == "22:00-06:00" && subscription.rules.allowsShrink)
        #expect(try Subscription(name: "news", subscription.json) == subscription)
        #expect(
            subscription.json.text == """
                {"source":{"feed":"https://a.example/","enclosures":false},"latest":50,\
                "adaptive":{"min":300,"max":86400},"ttl":3600,"concurrencyPerHost":2,"minGap":0.5,\
                "quietHours":"22:00-06:00","maxDelay":60,"allowShrink":true,"headers":{"accept-language":"de"},\
                "credential":"news","tags":["a","b"]}
                """)
    }

    @Test(
        "A fault names its place",
        arguments: [
            ("[]", ""), ("{}", "/source"), (#"{"source": 1}"#, "/source"), (#"{"source": {}}"#, "/source"),
            (#"{"source": {"feed": "https://a/", "sitemap": "https://a/"}}"#, "/source"),
            (#"{"source": {"feed": "nonsense"}}"#, "/source/feed"),
            (#"{"source": {"feed": "https://a/", "next": "link"}}"#, "/source/next"),
            (#"{"source": {"urls": []}}"#, "/source/urls"),
            (#"{"source": {"urls": ["https://a/", 1]}}"#, "/source/urls/1"),
            (#"{"source": {"pages": "https://a/", "items": "data"}}"#, "/source/items"),
            (#"{"source": {"pages": "https://a/", "next": "/~"}}"#, "/source/next"),
            (#"{"source": {"feed": "https://a/", "enclosures": 1}}"#, "/source/enclosures"),
        ])
    func faults(_ text: String, _ pointer: String) throws {
        let json = try JSON(parsing: text)
        let fault = #expect(throws: DefinitionFault.self) { try Subscription(name: "news", json) }
        #expect(fault?.pointer.description == pointer)
    }

    @Test(
        "An invalid member is refused",
        arguments: [
            (#""latest": 0"#, "/latest"), (#""interval": "9s""#, "/interval"), (#""interval": -1"#, "/interval"),
            (#""interval": 60, "adaptive": {"min": 60, "max": 90}"#, "/adaptive"),
            (#""adaptive": {"min": 60}"#, "/adaptive"),
            (#""adaptive": {"min": 90, "max": 60}"#, "/adaptive/min"),
            (#""adaptive": {"min": 1, "max": 60}"#, "/adaptive/min"),
            (#""ttl": "soon""#, "/ttl"), (#""minGap": 1e400"#, "/minGap"),
            (#""concurrencyPerHost": 17"#, "/concurrencyPerHost"),
            (#""quietHours": "22-6""#, "/quietHours"), (#""allowShrink": 1"#, "/allowShrink"),
            (#""tags": [""]"#, "/tags/0"),
            (#""headers": {"Cookie": "a=b"}"#, "/headers/Cookie"),
            (#""headers": {"AUTHORIZATION": "x"}"#, "/headers/AUTHORIZATION"),
            (#""headers": {"a b": "c"}"#, "/headers/a b"), (#""headers": {"a": "c\nd"}"#, "/headers/a"),
            (#""headers": {"Accept": "a", "accept": "b"}"#, "/headers/accept"),
            (#""cron": "*""#, "/cron"),
        ])
    func invalid(_ member: String, _ pointer: String) throws {
        let json = try JSON(parsing: #"{"source": {"feed": "https://a.example/"}, \#(member)}"#)
        let fault = #expect(throws: DefinitionFault.self) { try Subscription(name: "news", json) }
        #expect(fault?.pointer.description == pointer)
    }

    @Test(
        "The refusal of an unknown member lists the members",
        arguments: [
            (
                #"{"source": {"feed": "https://a.example/"}, "foo": 1}"#,
                "unknown member \"foo\"; the members are adaptive, "
            ),
            (
                #"{"source": {"pages": "https://a.example/", "latest": 1}}"#,
                "unknown member \"latest\"; the members of a source with pages are items, next, pages"
            ),
        ])
    func unknownMember(_ text: String, _ words: String) throws {
        let json = try JSON(parsing: text)
        let fault = #expect(throws: DefinitionFault.self) { try Subscription(name: "news", json) }
        #expect(fault.map { "\($0)".contains(words) } == true, "\(String(describing: fault))")
    }

    @Test(
        "A header that the requests write themselves is refused with the reason",
        arguments: [
            ("Range", "whole bodies"), ("HOST", "URL"), ("Connection", "connection"), ("Keep-Alive", "connection"),
            ("Proxy-Connection", "connection"), ("TE", "connection"), ("Trailer", "connection"),
            ("Transfer-Encoding", "connection"), ("Upgrade", "connection"), ("Content-Length", "no body"),
            ("Expect", "no body"), ("Accept-Encoding", "decode"), ("If-None-Match", "conditions"),
            ("If-Modified-Since", "conditions"), ("if-range", "conditions"), ("If-Schedule-Tag-Match", "conditions"),
            ("Cookie", "store the credential"),
        ])
    func reservedHeaders(_ name: String, _ reason: String) throws {
        let json = try JSON(parsing: #"{"source": {"feed": "https://a.example/"}, "headers": {"\#(name)": "x"}}"#)
        let fault = #expect(throws: DefinitionFault.self) { try Subscription(name: "news", json) }
        #expect(fault?.pointer.description == "/headers/\(name)")
        #expect(fault.map { "\($0)".contains(name) && "\($0)".contains(reason) } == true)
    }

    @Test(
        "A name needs no escapes in a path",
        arguments: ["", ".", "..", "a/b", "a b", "ä", String(repeating: "a", count: 65)])
    func names(_ name: String) {
        #expect(!Subscription.isName(name))
        #expect(Subscription.isName("a.B_c-9"))
    }
}
