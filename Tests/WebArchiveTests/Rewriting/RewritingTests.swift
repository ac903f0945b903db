import TestSupport
import Testing

@testable import WebArchive

@Suite("Rewriting the URLs of documents")
struct RewritingTests {
    static func rewritten(_ document: String, isXML: Bool = false, _ url: (Reference) -> String?) -> String {
        let bytes = Array(document.utf8)
        let found = MarkupReferences(bytes.span, isXML: isXML)
        let rewriting = Rewriting(found.references, found.fixes, url: url)
        let result = rewriting.apply(to: bytes)
        #expect(rewriting.inverse(of: bytes).apply(to: result) == bytes, "the inverse restores the document")
        return String(decoding: result, as: UTF8.self)
    }

    @Test(
        "A new URL is escaped for its place, and all other bytes stay",
        arguments: [
            ("<img  src=a alt=x>", "<img  src=\"/v/'&amp;)\" alt=x>"), ("<img src='a'>", "<img src='/v/&#39;&amp;)'>"),
            ("<img src=\" a \">", "<img src=\" /v/'&amp;) \">"),
            ("<img srcset='a 1x,  b'>", "<img srcset='/v/&#39;&amp;) 1x,  /v/&#39;&amp;)'>"),
            ("<p style=a:url(b)>", "<p style=a:url(&quot;/v/\\27&#32;\\26&#32;)&quot;)>"),
            ("<p style='a:url(&quot;b&quot;)'>", "<p style='a:url(&quot;/v/\\27 \\26 )&quot;)'>"),
            ("<style>a{b:url(c)}</style>", "<style>a{b:url(\"/v/\\27 \\26 )\")}</style>"),
            ("<iframe srcdoc='<img src=\"a\">'>", "<iframe srcdoc='<img src=\"/v/&#39;&amp;amp;)\">'>"),
            ("<meta http-equiv=refresh content='0;url=a'>", "<meta http-equiv=refresh content='0;url=/v/%27&amp;)'>"),
            (
                "<svg><style>a{b:url(c)}</style></svg>",
                "<svg><style>a{b:url(\"/v/\\27 \\26 )\")}</style></svg>"
            ),
        ])
    func escaping(document: String, expected: String) {
        #expect(Self.rewritten(document) { _ in "/v/'&)" } == expected)
    }

    @Test(
        "Policies, connection hints, pings and animated links lose their effect",
        arguments: [
            ("<meta http-equiv=Content-Security-Policy content='x'><p>", "<meta http-equiv=\"\" content='x'><p>"),
            ("<meta name=referrer content=unsafe-url>", "<meta name=\"\" content=unsafe-url>"),
            ("<link rel=preconnect href=//h><p>", "<link rel=xxxxxxxxxx href=//h><p>"),
            ("<link href=a rel = 'x DNS-prefetch'>", "<link href=a rel = 'x xxxxxxxxxxxx'>"),
            ("<link rel=\"pre&#99;onnect\">", "<link rel=\"xxxxxxxxxxxxxx\">"),
            ("<<link rel=prefetch>img src=a>", "<<link rel=xxxxxxxx>img src=a>"),
            ("<script>'<link rel=\"prerender\">'</script>", "<script>'<link rel=\"xxxxxxxxx\">'</script>"),
            ("<plaintext\0t><link rel=preconnect>", "<plaintext\0t><link rel=xxxxxxxxxx>"),
            ("<iframe srcdoc='<link r&#101;l=preconnect>'>", "<iframe srcdoc='<link r&#101;l=xxxxxxxxxx>'>"),
            (
                "<iframe srcdoc='<link rel=&quot;preconnect&quot;>'>",
                "<iframe srcdoc='<link rel=&quot;xxxxxxxxxx&quot;>'>"
            ),
            ("<a ping='x' href='y' ping='z' referrerpolicy=b>", "<a ping=\"\" href='y' ping='z' referrerpolicy=\"\">"),
            ("<img crossorigin=use-credentials>", "<img crossorigin=anonymous>"),
            ("<svg><set attributeName=xlink:href to=x /></svg>", "<svg><set attributeName=\"\" to=x /></svg>"),
            ("<link rel='prefetch stylesheet' href='y'>", "<link rel='xxxxxxxx stylesheet' href='y'>"),
        ])
    func removals(document: String, expected: String) {
        #expect(Self.rewritten(document) { _ in nil } == expected)
    }

    @Test("The attribute integrity stays unless the resource is rewritten")
    func integrity() {
        let bytes = Array("<link rel=stylesheet href='a' integrity='x'><script src='b' integrity=y></script>".utf8)
        let found = MarkupReferences(bytes.span, isXML: false)
        let rewriting = Rewriting(found.references, isRewritten: { $0.text == "a" }, url: { _ in nil })
        #expect(
            String(decoding: rewriting.apply(to: bytes), as: UTF8.self)
                == "<link rel=stylesheet href='a' integrity=\"\"><script src='b' integrity=y></script>")
    }

    @Test("The URLs of a rewritten document are the new URLs", arguments: 1...300)
    func reading(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let document = RandomMarkup.document(&random)
        let bytes = Array(document.utf8)
        let before = MarkupReferences(bytes.span, isXML: false)
        let urls = before.references.enumerated().map { index, reference in
            let text = ["1&b", "'", "\"", ")", "(x)", "%20"][Int(random.next() % 6)]
            // A refresh has no escape for quotes but that of URLs.
            return "/view/\(index)?a=\(reference.kind == .refresh ? "1&b" : text)"
        }
        let index = Dictionary(before.references.enumerated().map { ($1.range, $0) }) { first, _ in first }
        let rewriting = Rewriting(before.references, before.fixes) { urls[index[$0.range]!] }
        let result = rewriting.apply(to: bytes)
        let after = MarkupReferences(result.span, isXML: false)
        let kept = Set(rewriting.edits.map(\.range))
        let expected = before.references.enumerated().filter { kept.contains($1.range) }.map {
            "\($1.kind) \(urls[$0])"
        }
        #expect(after.references.map { "\($0.kind) \($0.text)" } == expected, "\(document)")
        #expect(after.fixes.filter { $0.replacement != Array("srcdoc=\"\"".utf8) } == [], "\(document)")
        #expect(rewriting.inverse(of: bytes).apply(to: result) == bytes)
    }
}

/// Documents of random pieces, many of them malformed.
enum RandomMarkup {
    private static let pieces = [
        "<img src=a>", "<img src='b c' srcset=\"d 1x, e,f 2x\">", "<IMG SRC=\"a&amp;b\" data-src=g>",
        "<a href=x ping=y>t</a>",
        "<style>a{b:url(c)} @import 'd';/* url(x) */</style>", "<p style='a:url(b)'>", "<p style=a:url(b)>",
        "<svg><use href=s.svg#i />",
        "</svg>", "<svg><style>a{b:url(c)}</style></svg>", "<foreignObject>", "<title>t</title>",
        "<textarea><img src=a></textarea>",
        "<!-- <img src=a> -->", "<!-->", "<script>x</script>", "<script><!-- <script>", "</script>",
        "<link rel=preconnect href=//h>",
        "<meta http-equiv=refresh content=\"1; url='a'\">", "<meta http-equiv=content-security-policy content=x>",
        "<base href=/b/>",
        "<iframe srcdoc=\"<img src='a'><p style='b:url(c)'>\"></iframe>", "<iframe srcdoc=<img/src=a>>",
        "text & < > \" '", "<br/>",
        "<math><mi>", "</mi></math>", "<![CDATA[<img src=a>]]>", "<img src=\"a", "\">", "<b", ">",
        "<link rel=stylesheet href=s integrity=i>",
        "<video poster=p src=v>", "&lt;", "<p style=\"a:image-set('b' 1x)\">", "<td background=b>", "日本",
        "<img crossorigin=use-credentials src=z>",
    ]

    static func document(_ random: inout SplitMix64) -> String {
        (0..<Int(random.next() % 30)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
    }
}
