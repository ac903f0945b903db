import Testing

@testable import WebArchive

@Suite("Images that become a part of a document")
struct InlineImageTests {
    private func text(_ image: String) -> String? {
        InlineImage.text(of: Array(image.utf8), prefix: "p-").map { String(decoding: $0, as: UTF8.self) }
    }

    private static let root = #"<svg width="0" height="0" style="position:absolute" aria-hidden="true""#

    @Test("The root is hidden, and each id and reference of the file gets the prefix")
    func names() {
        let image = """
            <?xml version="1.0"?><!DOCTYPE svg><!-- <svg> --><svg xmlns='http://www.w3.org/2000/svg' width="9" id=\"r\">\
            <symbol id="a" viewBox='0 0 1 1'><path fill="url( '#g' ) url(/x#g)" d="M0"/></symbol>\
            <use href="#a" xlink:href='/other#a'/><text>a &lt; b</text><![CDATA[<id="no">&]]></svg><svg id="rest"/>
            """
        #expect(
            text(image) == Self.root + """
                 xmlns="http://www.w3.org/2000/svg" id="p-r">\
                <symbol id="p-a" viewBox="0 0 1 1"><path fill="url( '#p-g' ) url(/x#g)" d="M0"/></symbol>\
                <use href="#p-a" xlink:href="/other#a"/><text>a &lt; b</text>&lt;id="no">&amp;</svg>
                """)
    }

    @Test("Elements that HTML reads as its own, style sheets and comments go, and quotes are escaped")
    func changes() {
        #expect(
            text("<svg><style>a { }</style><STYLE>*{}</STYLE><style/><!-- <b --><g id='\"'><svg:g>x</svg:g></g></svg>")
                == Self.root + #"><g id="p-&quot;"></g></svg>"#)
        for name in ["p", "foreignObject", "title", "desc", "script", "a", "link", "font"] {
            #expect(text("<svg><\(name)><g/><p>x</p></\(name)><g/></svg>") == Self.root + "><g/></svg>", "\(name)")
        }
    }

    @Test("A hostile file cannot bring a connection hint into the document")
    func hints() {
        let file = #"""
            <svg><symbol id="a"/><p/><![CDATA[><link title="]]>x" re<!-- -->l="preconnect" href="https://evil.example">\#
            </svg>
            """#
        #expect(text(file)?.contains("<link") == false)
        #expect(text(#"<svg><g "a="x><link rel=preconnect href=//evil.example>"/></svg>"#) == nil)
    }

    @Test(
        "A file without a whole SVG element is no part",
        arguments: [
            "", "<svg>", "<svg", "<svg/>", "<svg a=", "<svg a='", "<p></p>", "<svg><!-- </svg>", "</svg>",
            "<svg a=b></svg>", "<svg a></svg>",
            "<svg><g =''/></svg>", "<svg></b></svg>",
            "<svg><path fill='url(&a;#i)'/></svg>", "<svg><text>&sol;</text></svg>", "<svg><text>&</text></svg>",
        ])
    func noImages(_ image: String) {
        #expect(text(image) == nil)
    }

    @Test(
        "A file in which HTML would find other URLs than XML is no part",
        arguments: [
            "<path filL='url(g)'/>", "<g Mask='url(g)'/>", "<g><g FILTER='url(#f) url(g)'/></g>",
        ])
    func otherURLs(_ content: String) {
        let root = "<svg xmlns='http://www.w3.org/2000/svg'"
        #expect(text("\(root)>\(content)</svg>") == nil)
        #expect(text("\(root)><path fill='url(g)'/><image href='g'/></svg>") != nil)
    }

    @Test("A document refers to the elements of its images, and the images follow its end")
    func document() throws {
        let url = try #require(WebURL("http://a/"))
        let html = "<svg><use href=i.svg#x /><use href='i.svg#y'/><use href='j.svg#z'/><use href=#own /></svg>"
        let document = ArchivedDocument(Array(html.utf8), .html, contentType: "text/html", url: url)
        #expect(document.imageURLs.map(\.text) == ["http://a/i.svg", "http://a/j.svg"])
        let images = ["http://a/i.svg": Array("<svg><g id='x'/></svg>".utf8), "http://a/j.svg": Array("no".utf8)]
        let text = document.rewritten(with: images) { url, _ in "/view/\(url.text)" }
        #expect(
            String(decoding: text, as: UTF8.self) == """
                <svg><use href="#larder-0-x" /><use href='#larder-0-y'/><use href='/view/http://a/j.svg#z'/>\
                <use href=#own /></svg>\(Self.root)><g id="larder-0-x"/></svg>
                """)
    }

    @Test("A video and a sound may have subtitles of another origin")
    func subtitles() throws {
        let url = try #require(WebURL("http://a/"))
        let html = "<Video src=v><track src=t></video><audio crossorigin src=s></audio><svg><video src=w></svg>"
        let document = ArchivedDocument(Array(html.utf8), .html, contentType: "text/html", url: url)
        let text = String(decoding: document.rewritten { url, _ in url.text }, as: UTF8.self)
        #expect(text.hasPrefix(#"<Video crossorigin="" src="#) && text.contains("<audio crossorigin src="))
        let bare = ArchivedDocument(
            Array("<video><source src=v></video>".utf8), .html, contentType: "text/html", url: url)
        let opened = String(decoding: bare.rewritten { url, _ in url.text }, as: UTF8.self)
        #expect(opened.hasPrefix(#"<video crossorigin=""><source src="#))
    }
}
