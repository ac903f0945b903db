import Testing

@testable import WebArchive

/// Documents with a URL that once left the replay.
@Suite("Documents that try to leave the replay")
struct LeavingReplayTests {
    /// Rewrites a document, and checks that all URLs in the result are those of the replay.
    static func rewritten(_ document: String, isXML: Bool = false) -> String {
        let result = RewritingTests.rewritten(document, isXML: isXML) { _ in "/v" }
        let again = MarkupReferences(Array(result.utf8).span, isXML: isXML)
        #expect(again.references.allSatisfy { $0.text == "/v" }, "\(again.references.map(\.text))")
        #expect(again.fixes == [], "\(result)")
        #expect(!result.contains("evil"))
        return result
    }

    @Test(
        "A URL that begins within the text of a character reference goes with its attribute",
        arguments: [
            ("<meta http-equiv=refresh content=\"0;url&bne;//evil\">", "<meta http-equiv=refresh content=\"\">"),
            ("<iframe srcdoc=\"<img src&bne;/src=//evil/x>\">", "<iframe srcdoc=\"\">"),
            ("<img srcset='a&fjlig;,b'>", "<img srcset='/v'>"),
            ("<p style='a:url(&fjlig;)'>", "<p style='a:url(\"/v\")'>"),
            ("<iframe srcdoc='<p &nvgt;<img src=//evil>'>", "<iframe srcdoc='<p &nvgt;<img src=\"/v\">'>"),
        ])
    func widerReferences(document: String, expected: String) {
        #expect(Self.rewritten(document) == expected)
    }

    @Test("A name for two characters, and a name beyond HTML 4, are decoded as in browsers")
    func names() {
        #expect(MarkupReferencesTests.found("<a href='&NotEqualTilde;&Nopf;&lbbrk;'>") == ["link \u{2242}\u{338}ℕ❲"])
        #expect(MarkupReferencesTests.found("<a href='&notit;&CounterClockwiseContourIntegral;'>") == ["link &notit;∳"])
        let hidden = "<p style=\"--a:#&Nopf;url(x ')');b:url(//evil);--c:'\">"
        #expect(Self.rewritten(hidden).contains("/v"))
    }

    @Test(
        "Entities with other characters than those of a plain URL are dropped, and so are predefined names",
        arguments: [
            "http://a ", "http://a, http://b", "http://a) ", "http:// url(\"//evil/x\")", "http://a prefetch",
            "http://a\\",
        ])
    func entities(text: String) {
        for name in ["e", "amp"] {
            let quote = text.contains("\"") ? "'" : "\""
            let result = Self.rewritten(
                "<!DOCTYPE a [<!ENTITY \(name) \(quote)\(text)\(quote)>]><g fill=\"url(&\(name);\" style='&\(name);'/>",
                isXML: true)
            #expect(result.hasPrefix("<!DOCTYPE a []>"))
        }
        let predefined = "<!DOCTYPE a [<!ENTITY amp \"http://evil\">]><a href='&amp;'/>"
        #expect(Self.rewritten(predefined, isXML: true) == "<!DOCTYPE a []><a href='/v'/>")
    }

    @Test("A URL that is a part of an entity goes with its attribute, and a whole entity is a URL")
    func partsOfEntities() {
        let head = "<!DOCTYPE a [<!ENTITY e \"http://evil.example\">]>"
        func body(_ text: String) -> String {
            let result = RewritingTests.rewritten(head + text, isXML: true) { _ in "/v" }
            #expect(result.hasPrefix(head))
            return String(result.dropFirst(head.count))
        }
        #expect(body("<a href='&e;/b'/>") == "<a href='/v'/>")
        #expect(body("<a style='b:url(&e;)'/>") == "<a style='b:url(\"/v\")'/>")
        #expect(body("<style>@import \"&e;\";</style>") == "<style>@import \"/v\";</style>")
        #expect(body("<iframe srcdoc='&lt;img src=&e;>'/>") == "<iframe srcdoc='&lt;img src=\"/v\">'/>")
        let source = head.replacing("evil", with: "src=evil")
        let nested = RewritingTests.rewritten(source + "<iframe srcdoc='&lt;img &e;>'/>", isXML: true) { _ in "/v" }
        #expect(nested == source + "<iframe srcdoc=\"\"/>")
    }

    @Test(
        "A style within SVG has no tags, comments and character references, because HTML and SVG differ in them",
        arguments: [
            ("<svg><style><title><textarea><a x=\"</textarea><img src='\">url(//evil)'>", "<svg><style>"),
            ("<svg><style><title><x><![CDATA[>url(\"<a href=//evil>\")]]>", "<svg><style>"),
            ("<svg><style>@import &quot//evil.css&quot;</style>", "<svg><style></style>"),
            ("<svg><style>a{b:&#117;rl(//evil)}</style>", "<svg><style></style>"),
            ("<svg><style>a{b:u<g>x</g>rl(//evil)}</style>", "<svg><style></style>"),
            ("<svg><style>a{b:url(//evil<!-- -->)}'a<!-- -->b'</style>", "<svg><style></style>"),
            ("<svg><style><![CDATA[a{b:url(//evil)}]]></style>", "<svg><style>a{b:url(\"/v\")}</style>"),
            ("<svg><style><![CDATA[a{b:url(//ev]]>il)}</style>", "<svg><style></style>"),
            ("<svg><style><![CDATA[a{b:url(data:&quot;) url(//evil)}]]></style>", "<svg><style></style>"),
            ("<svg><style><![CDATA[</style><img src=//evil>]]>", "<svg><style></style><img src=\"/v\">]]>"),
            ("<svg><style//><a b=</style><img/src=//evil>", "<svg><style></style><a b=</style><img/src=\"/v\">"),
        ])
    func styles(document: String, expected: String) {
        #expect(Self.rewritten(document) == expected)
    }

    @Test(
        "Text within SVG has no tags, because HTML and SVG differ in them",
        arguments: [
            ("<svg><foreignObject><wbr></foreignObject><title><a href=//evil></title></svg>", "<title></title>"),
            ("<svg><foreignObject><td></foreignObject><title><a href=//evil></title></svg>", "<title></title>"),
            ("<svg><foreignObject><p><p></p></foreignObject><title><a href=//evil></title></svg>", "<title></title>"),
            ("<svg><desc><div></b></svg><title><a href=//evil></title></svg>", "<title></title>"),
            ("<svg><g><foreignObject></g><x></svg><title><a href=//evil></title>", "<x></svg><title></title>"),
            ("<svg / ><xmp><img src=//evil></xmp>", "<xmp></xmp>"),
            ("<math><script><a href=//evil></script>", "<script></script>"),
            ("<svg><script><!--<script></script><a href=//evil></script>", "<script></script><a href=\"/v\"></script>"),
            ("<svg><plaintext><a href=//evil>", "<plaintext>"),
            ("<svg><title/><a href=//evil></title>", "<title></title><a href=\"/v\"></title>"),
            ("<div><svg></div><![CDATA[><img src=//evil>]]>", "<![CDATA[]]>"),
            ("<frameset><title><frame src=//evil></title>", "<frameset><title></title>"),
            (String(repeating: "<svg><desc>", count: 200) + "<title><a href=//evil></title>", "<title></title>"),
        ])
    func textsInSVG(document: String, end: String) {
        #expect(Self.rewritten(document).replacing("</svg>", with: "").hasSuffix(end.replacing("</svg>", with: "")))
    }

    @Test("Behind SVG that certainly has ended, text may have tags again")
    func behindSVG() {
        for svg in [
            "<svg><path><g></svg>", "<svg/>", "<svg><p>", "<svg><foreignObject><div><br></div></foreignObject></svg>",
            "<math><mi>x</mi></math>", "<svg><title>a</title><style>b</style></svg>", "<svg></p>",
            "<svg><font color=a>",
            String(repeating: "<svg>", count: 90) + String(repeating: "</svg>", count: 90),
            "<math><annotation-xml encoding='text&#x2f;html'><b></b></annotation-xml></math>",
            "<math><mi><mglyph></mglyph></mi></math>", "<svg><desc><x-y></x-y></desc></svg>",
        ] {
            let document = svg + "<script>a<b</script>"
            #expect(RewritingTests.rewritten(document) { _ in nil } == document)
        }
    }

    @Test(
        "The text of a style in XML is that of the style without its comments and elements",
        arguments: [
            ("<style><!doctype \"><a x=\"><img src='\">url(a)'/>", "<style><!doctype \"><a x=\"><img src='/v'/>"),
            ("<style>a{b:u<g>x</g>rl(//evil)}</style>", "<style>a{b:u<g>x</g>rl(\"/v\")}</style>"),
            ("<style>a{b:u<!-- -->rl(c)}</style>", "<style>a{b:u<!-- -->rl(\"/v\")}</style>"),
            ("<style>a{b:url(c<!-- -->)}</style>", "<style>a{b:url(\"/v\"<!-- -->)}</style>"),
            ("<style>a{b:url(//evil<?a?>c)}</style>", "<style><?a?></style>"),
            ("<style>@import 'b<![CDATA[c';]]></style>", "<style><![CDATA[]]></style>"),
            (
                "<style>@import &quot;b&quot;;<style>@import 'c';</style>@import 'd'</style>",
                "<style>@import &quot;/v&quot;;<style>@import '/v';</style>@import '/v'</style>"
            ),
            ("<style>a{b:&#117;rl(c?d&amp;e)}", "<style>a{b:&#117;rl(\"/v\")}"),
        ])
    func stylesInXML(document: String, expected: String) {
        #expect(Self.rewritten(document, isXML: true) == expected)
    }

    @Test("The URL of a reference counts, and not a hint that is the same bytes")
    func hintsAndReferences() {
        #expect(Self.rewritten("rel=\"<img src=search>") == "rel=\"<img src=\"/v\">")
        #expect(RewritingTests.rewritten("rel=rel='rel=prefetch") { _ in nil } == "rel=rel='rel=xxxxxxxx")
        #expect(
            RewritingTests.rewritten("rel=\"a 'rel=' search\" 'search") { _ in nil }
                == "rel=\"a 'rel=' xxxxxx\" 'search")
    }

    @Test("An animation in XML sets no link, and no URL of CSS")
    func animations() {
        #expect(
            Self.rewritten(
                "<set attributeName=\"href\" to=\"http://evil/\"/>".replacing("evil", with: "e"), isXML: true)
                == "<set attributeName=\"\" to=\"http://e/\"/>")
        #expect(Self.rewritten("<svg><set attributeName=fill to='url(//evil)' />").contains("to='url(\"/v\")'"))
        #expect(Self.rewritten("<svg><animate values='a;url(//evil)' />").contains("values='a;url(\"/v\")'"))
    }

    @Test("In XML, an attribute with a prefix is only a link, and hides no attribute without a prefix")
    func prefixes() {
        let refresh = "<meta http-equiv='refresh' x:content='' content='0;url=//evil'/>"
        #expect(Self.rewritten(refresh, isXML: true).contains("url=/v"))
        #expect(Self.rewritten("<link x:rel='a' rel='icon' href='//evil'/>", isXML: true).contains("href='/v'"))
        let base = MarkupReferencesTests.found("<base x:href='a' href='/b/'/><img src='c'/>", isXML: true)
        #expect(base == ["base a", "base /b/", "image c (/b/)"])
    }

    @Test("A later base has no effect, because a browser may ignore the first one, and `link` may be MathML")
    func basesAndLinks() {
        let document = "<template><base href=a></template><base href=//evil>"
        #expect(Self.rewritten(document) == "<template><base href=\"/v\"></template><base href=\"\">")
        #expect(Self.rewritten("<math><link href=//evil>") == "<math><link href=\"/v\">")
    }

    @Test("A sheet in a nested document keeps its attribute integrity as it was only if the sheet stays")
    func nestedIntegrity() {
        let document = Array("<iframe srcdoc='<link rel=stylesheet href=a integrity=b>'>".utf8)
        let found = MarkupReferences(document.span, isXML: false)
        let rewriting = Rewriting(found.references, isRewritten: { _ in true }, url: { _ in nil })
        #expect(String(decoding: rewriting.apply(to: document), as: UTF8.self).contains("href=a integrity=\"\""))
    }
}
