import Primitives
import Testing

@testable import Feeds

@Suite("Paged lists")
struct PagedListTests {
    private let base = "https://h.example/items"

    private func list(
        next: PagedList.Next = .link, items: String = "", limits: PagedList.Limits = .init()
    ) throws -> PagedList {
        PagedList(base, next: next, items: try JSONPointer(items), limits: limits)
    }

    @Test("A list follows the Link field with rel=next, and resolves URLs against each page")
    func links() throws {
        var list = try list()
        #expect(list.next == base)
        list.receive(
            Array(#"["a", {"url": "/b", "id": 4}]"#.utf8), links: [#"</p>; rel="prev", <?page=2>; rel=next"#], url: base
        )
        #expect(list.next == base + "?page=2")
        list.receive(Array(#"[{"href": "c"}, {"link": "d"}, {"id": "e"}]"#.utf8), url: "https://h.example/v2/items")
        #expect(list.next == nil && !list.endsInLoop)
        #expect(
            list.items.map(\.link) == [
                "https://h.example/a", "https://h.example/b", "https://h.example/v2/c", "https://h.example/v2/d",
                "https://h.example/v2/e",
            ])
        #expect(list.items.map(\.id) == [nil, "4", nil, nil, "e"])
        #expect(list.outcome == .items(list.items))
    }

    @Test(
        "A list follows a JSON pointer, and ends where it leads to null or an empty text", arguments: ["null", "\"\""])
    func pointers(end: String) throws {
        var list = try list(next: .pointer(try JSONPointer("/paging/next")), items: "/data/0/list")
        list.receive(Array(#"{"paging": {"next": "/2"}, "data": [{"list": ["a"]}]}"#.utf8), url: base)
        #expect(list.next == "https://h.example/2")
        list.receive(Array("{\"paging\": {\"next\": \(end)}, \"data\": [{\"list\": []}]}".utf8), url: base)
        #expect(list.next == nil && list.items.count == 1)
    }

    @Test("A list with pages that name one another ends")
    func loop() throws {
        var list = try list()
        list.receive(Array("[\"a\"]".utf8), links: ["<https://h.example/2>; rel=\"next last\""], url: base)
        list.receive(Array("[\"b\"]".utf8), links: ["<HTTPS://h.example:443/items>; rel=next"], url: base)
        #expect(list.next == nil && list.endsInLoop && list.items.count == 2)
    }

    @Test("A list beyond a limit is unparsable")
    func limits() throws {
        var pages = try list(limits: .init(pages: 2))
        for number in 1...2 {
            pages.receive(Array("[\"a\"]".utf8), links: ["</\(number)>; rel=next"], url: base)
        }
        #expect(pages.next == nil && pages.outcome == .unparsable("page 2: the list has over 2 pages"))
        var items = try list(limits: .init(items: 1))
        items.receive(Array("[\"a\", \"b\"]".utf8), url: base)
        #expect(items.outcome == .unparsable("page 1: the list has over 1 items"))
    }

    @Test(
        "A page that cannot be read makes the list unparsable, with the page and the reason",
        arguments: [
            ("<!doctype html>", "page 1: the answer is an HTML page, not JSON"),
            (
                "{}",
                "page 1: there is no array at \"/data\"; name the place of the list with \"items\", such as \"/data\""
            ),
            (#"{"data": [5]}"#, "page 1: element 0 of \"/data\" has no URL"),
            (#"{"data": ["mailto:a"]}"#, "page 1: element 0 of \"/data\" has no URL"),
        ])
    func refused(body: String, reason: String) throws {
        var list = try list(items: "/data")
        list.receive(Array(body.utf8), links: ["</2>; rel=next"], url: base)
        #expect(list.next == nil && list.outcome == .unparsable(reason))
    }

    @Test("An empty list is empty, and a failed download makes the list unparsable")
    func outcomes() throws {
        var list = try list()
        list.receive(Array("[]".utf8), links: ["</2>; rel=next"], url: base)
        #expect(list.outcome == .empty([]))
        list.fail("503")
        #expect(list.next == nil && list.outcome == .unparsable("page 2: 503"))
        #expect(PagedList("mailto:a", next: .link, items: .root).outcome.reason != nil)
    }

    @Test(
        "The target of a Link field with rel=next is read (RFC 8288 §3)",
        arguments: [
            ("<a>; rel=next", "a"), ("<a>;title=\"x,<b>;rel=next\"; rel=\"prev\", <c> ; REL = \"Next\"", "c"),
            ("<a>; rel=\"prev\"; rel=next", nil), ("<a>; rel=next; anchor=\"#x\"", nil), ("a; rel=next", nil),
            ("<a>; rel=nextpage", nil), ("<a", nil), ("<a>; rel=\"next", "a"), ("", nil), ("<a>;;; rel=next", "a"),
            ("<a,b>; rel=\"\\n\\e\\xt\"", "a,b"),
        ] as [(String, String?)])
    func link(line: String, target: String?) {
        #expect(LinkField.target(of: "next", in: [line]) == target)
    }
}
