import TestSupport
import Testing

@testable import WebArchive

@Suite("Captured documents")
struct ArchivedDocumentTests {
    private static let url = WebURL("https://h.example/dir/page.html?x")!

    private func document(
        _ text: String, _ format: ArchivedDocument.Format = .html, type: String? = nil
    ) -> ArchivedDocument {
        ArchivedDocument(Array(text.utf8), format, contentType: type, url: Self.url)
    }

    private func rewritten(_ document: ArchivedDocument) -> String {
        String(decoding: document.rewritten { url, _ in "/v/" + url.text }, as: UTF8.self)
    }

    @Test("A document names the absolute URLs of its resources and links, each once")
    func found() {
        let page = document(
            """
            <title>T</title><base href=/b/><img src=i.png><img src=i.png>
            <a href=l#top></a><a href=#top></a><link rel=stylesheet href=//c/s>
            <a href=mailto:a@b></a><img src=data:,x>
            """)
        #expect(page.title == "T")
        #expect(
            page.found.map { "\($0.kind) \($0.url.text)" } == [
                "image https://h.example/b/i.png", "link https://h.example/b/l", "style https://c/s",
            ])
    }

    @Test("A replay has no URL of a server but those of the view, and keeps fragments")
    func replay() {
        let page = document(
            "<base href=/b/><a href='i#f'></a><img src=gopher://x/><form action=f></form><img src=data:,x>")
        #expect(
            rewritten(page)
                == "<base href=\"/v/https://h.example/b/\"><a href='/v/https://h.example/b/i#f'></a>"
                + "<img src=\"about:invalid\"><form action=\"/v/https://h.example/b/f\"></form><img src=data:,x>")
    }

    @Test("Absolute URLs beyond the limit of a document lead nowhere")
    func limit() {
        let bytes = Array("<base href=/long/><a href=a></a><a href=b></a><a href=c></a>".utf8)
        var address = DocumentAddress(Self.url, limit: 80)
        let found = MarkupReferences(bytes.span, isXML: false).references.map { address.resolve($0) }
        #expect(found.dropFirst(3) == [.unusable])
        #expect(!found.dropLast().contains(.unusable))
    }

    @Test("A rewritten style sheet loses its integrity, a script keeps it")
    func integrity() {
        let page = document("<link rel=stylesheet integrity=a href=s><script integrity=b src=t></script>")
        let text = rewritten(page)
        #expect(text.contains("integrity=\"\""))
        #expect(text.contains("integrity=b"))
    }

    @Test("A legacy encoding becomes UTF-8, and the queries of URLs keep it")
    func legacy() {
        let body = Array("<meta charset=shift_jis><a href='?q=".utf8) + [0x83, 0x65] + Array("'>".utf8) + [0x83, 0x65]
        let page = ArchivedDocument(body, .html, contentType: "text/html", url: Self.url)
        #expect(page.found.map(\.url.text) == ["https://h.example/dir/page.html?q=%83e"])
        #expect(rewritten(page).hasSuffix(">テ"))
    }

    @Test("Style sheets, manifests and modules name their URLs")
    func others() {
        let sheet = document("@import 'a.css'; b{c:url(d.png)}", .css)
        #expect(sheet.found.map(\.url.path) == ["/dir/a.css", "/dir/d.png"])
        #expect(sheet.found.map(\.kind) == [.style, .css])
        let manifest = document(#"{"icons": [{"src": "i.png"}]}"#, .manifest)
        #expect(manifest.found.map(\.url.path) == ["/dir/i.png"])
        let module = document("import a from './a.js'; import b from 'b'; import('https://c/c.js')", .script)
        #expect(module.found.map(\.url.text) == ["https://h.example/dir/a.js", "https://c/c.js"])
        #expect(rewritten(module) == String(decoding: module.text, as: UTF8.self))
    }

    @Test(
        "The place of a reference and the media type decide the format",
        arguments: [
            (.frame, "text/html; charset=x", .html), (.frame, nil, .html), (.frame, "image/svg+xml", .xml),
            (.frame, "application/pdf", nil), (.style, "text/plain", .css), (.image, "image/svg+xml", .xml),
            (.image, "text/html", nil), (.preload, "text/css", .css), (.preload, "TEXT/JavaScript", .script),
            (.media, "text/html", nil), (.manifest, nil, .manifest), (.script, "text/html", .script),
        ] as [(Reference.Kind, String?, ArchivedDocument.Format?)])
    func formats(kind: Reference.Kind, type: String?, expected: ArchivedDocument.Format?) {
        #expect(ArchivedDocument.Format(of: kind, contentType: type) == expected)
    }
}
