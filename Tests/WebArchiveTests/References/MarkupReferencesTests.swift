import Testing

@testable import WebArchive

@Suite("The references of HTML, XHTML and SVG documents")
struct MarkupReferencesTests {
    /// The kind and the URL of each reference, with the declared bases in brackets.
    static func found(_ document: String, isXML: Bool = false) -> [String] {
        MarkupReferences(Array(document.utf8).span, isXML: isXML).references.map {
            "\($0.kind) \($0.text)" + ($0.bases.isEmpty ? "" : " (\($0.bases.joined(separator: " ")))")
        }
    }

    @Test(
        "Each attribute with a URL is a reference of its kind",
        arguments: [
            ("<img src=a.png>", "image a.png"), ("<IMG SRC='a b.png'>", "image a b.png"),
            ("<img srcset='a.png 1x, b,c.png 2x'>", "image a.png|image b,c.png"),
            ("<img data-src=a.png>", "lazy a.png"), ("<img data-srcset='a.png 1x'>", "lazy a.png"),
            ("<picture><source srcset=a.webp></picture>", "image a.webp"), ("<source src=a.webm>", "media a.webm"),
            ("<video src=v.webm poster=p.png></video>", "media v.webm|image p.png"),
            ("<audio src=a.ogg>", "media a.ogg"),
            ("<track src=t.vtt>", "track t.vtt"), ("<embed src=e.swf>", "object e.swf"),
            ("<object data=o.svg></object>", "object o.svg"), ("<iframe src=f.html></iframe>", "frame f.html"),
            ("<frameset><frame src=f.html></frameset>", "frame f.html"), ("<body background=b.png>", "image b.png"),
            ("<td background=b.png>", "image b.png"), ("<div background=b.png>", ""),
            ("<script src=s.js></script>", "script s.js"), ("<input type=image src=i.png>", "image i.png"),
            ("<input type=IMAGE src=i.png>", "image i.png"), ("<input type=text src=i.png>", ""),
            ("<a href=x.html>x</a>", "link x.html"), ("<area href=x.html>", "link x.html"),
            ("<link rel=stylesheet href=s.css>", "style s.css"),
            ("<link rel='Alternate StyleSheet' href=s.css>", "style s.css"),
            ("<link rel=icon href=i.png>", "icon i.png"), ("<link rel='shortcut icon' href=i.png>", "icon i.png"),
            ("<link rel=manifest href=m.json>", "manifest m.json"), ("<link rel=canonical href=x>", ""),
            ("<link rel=preload as=image href=a.png imagesrcset='b.png 1x'>", "preload a.png|preload b.png"),
            ("<link rel=modulepreload href=m.js>", "script m.js"), ("<link href=s.css>", ""),
            ("<div style='background:url(a.png)'>", "css a.png"),
            ("<style>@import 'a.css';b{c:url(d.png)}</style>", "style a.css|css d.png"),
            ("<meta http-equiv=refresh content='0; URL=x.html'>", "refresh x.html"),
            ("<form action=x><button formaction=y>", "form x|form y"),
            ("<svg><image href=a.png /><use xlink:href=s.svg#i /><use href=#l /></svg>", "image a.png|svg s.svg#i"),
            ("<svg><a href=x.html></a><script href=s.js></script></svg>", "link x.html|script s.js"),
            ("<svg><rect fill='url(p.svg#g)' stroke='url(#l)' /></svg>", "css p.svg#g"),
            ("<rect fill='url(p.svg)'>", ""),
            ("<svg><feImage href=f.png /></svg>", "image f.png"), ("<blockquote cite=x>", ""),
        ])
    func kinds(document: String, expected: String) {
        #expect(Self.found(document).joined(separator: "|") == expected)
    }

    @Test(
        "Text that a browser does not read as a tag has no references",
        arguments: [
            "<!-- <img src=a> -->", "<!--><!-- <img src=a> -->", "<textarea><img src=a></textarea>",
            "<title><img src=a></title>",
            "<script>'<img src=a>'</script>", "<script><!-- <script> </script> <img src=a> --></script>",
            "<xmp><img src=a></xmp>",
            "<style>/* <img src=a> */</style>", "<iframe><img src=a></iframe>", "<noembed><img src=a></noembed>",
            "<plaintext><img src=a>", "<img src=a", "<img src='a>", "<![CDATA[<img src=a>", "<! <img src=a>",
            "<? <img src=a>",
            "</ <img src=a>", "<img src>", "<img src=>", "<img src=''>", "<img src='  '>", "<a href=#top>",
            "&lt;img src=a>",
            "<svg><style><![CDATA[ <img src=a> ]]></style></svg>", "<script type=text/template><img src=a></script>",
        ])
    func ignored(document: String) {
        #expect(Self.found(document) == [])
    }

    @Test(
        "Malformed markup is read as browsers read it",
        arguments: [
            ("<!--><img src=a>-->", "image a"), ("<!---><img src=a>-->", "image a"),
            ("<!-- --!><img src=a>", "image a"),
            ("<img src=a src=b>", "image a"), ("<img src='a'src='b'>", "image a"), ("<img/src=a>", "image a"),
            ("<img src=a/>", "image a/"), ("<img src = a >", "image a"), ("<img =src=b src=a>", "image a"),
            ("<b <img src=a>", ""), ("<img src='a'<div>", "image a"), ("<img src=\" a\n\">", "image a"),
            ("<script>x</scriptx><img src=a></script><img src=b>", "image b"),
            ("<script></SCRIPT ><img src=a>", "image a"),
            ("<title>x</title><img src=a>", "image a"), ("<style>a{}</style ><img src=a>", "image a"),
            ("<script><!--<script></script>--></script><img src=a>", "image a"),
            ("<noscript><img src=a></noscript>", "image a"),
            ("<svg><![CDATA[<img src=a>]]></svg>", ""),
            ("<svg></svg><![CDATA[<img src=a>]]>", ""), ("<svg><p><style><img src=a></style>", ""),
            ("<svg><foreignObject><style><img src=a></style>", ""),
            ("<svg/><style><img src=a></style>", ""), ("<math><mi><img src=a></mi></math>", "image a"),
            ("<svg><style>a{b:url(c?d&e)}</style>", "css c?d&e"),
            ("<svg><style> <![CDATA[a>b{c:url(d)}]]> <![CDATA[@import 'e]]></style>", "css d|style e"),
            ("<template><img src=a></template>", "image a"), ("<image src=a>", "image a"),
            ("<image srcset=a>", "image a"),
            ("<img \0src=b src=a>", "image a"), ("<plaintex\0t><img src=a>", "image a"),
            (
                String(repeating: "<svg>", count: 200) + String(repeating: "</svg>", count: 200)
                    + "<xmp><img src=b></xmp>", ""
            ),
            ("<svg><base href=x></svg><img src=a>", "svg x|image a"),
            ("<base href=''><base href=x><img src=a>", "image a ()"),
            ("<svg><desc><![CDATA[>'<textarea>]]></desc></svg><img src=a>", "image a"),
            ("<svg><title><![CDATA[a > <img src=a>]]></title></svg>", ""), ("<svg><math><mo><image href=a>", "image a"),
            ("<math><svg><foreignObject><image href=a>", "image a"),

            ("<image data-src=a>", "lazy a"),
            ("<math><mi><div></mi><svg></svg><mglyph href=a>", "svg a"),
            ("<iframe srcdoc=\"<p &nvgt;<img src=a>\">", "image a"),
        ])
    func malformed(document: String, expected: String) {
        #expect(Self.found(document).joined(separator: "|") == expected)
    }

    @Test(
        "Character references in a URL are decoded",
        arguments: [
            ("<img src='?a=1&amp;b=2'>", "?a=1&b=2"), ("<img src='?a=1&copy=3'>", "?a=1&copy=3"),
            ("<img src='&copy;'>", "©"),
            ("<img src=?a&amp>", "?a&"), ("<img src='&#x61;&#98;&#X63'>", "abc"),
            ("<img src='&#0;&#x110000;'>", "\u{fffd}\u{fffd}"),
            ("<img src='&#x80;'>", "€"), ("<img src='a&colon;b&sol;c&Tab;d'>", "a:b/c\td"),
            ("<img src='&unknown;'>", "&unknown;"),
            ("<img src='&ampx'>", "&ampx"), ("<img src='&amp=x'>", "&amp=x"), ("<img src='&'>", "&"),
            ("<img src='&#;'>", "&#;"),
        ])
    func characterReferences(document: String, url: String) {
        #expect(Self.found(document) == ["image \(url)"])
    }

    @Test("The first base applies to the references behind it, and a srcdoc has a base of its own")
    func base() {
        #expect(
            Self.found("<img src=a><base href=/b/><img src=c><base href=/d/><img src=e>")
                == ["image a", "base /b/", "image c (/b/)", "image e (/b/)"])
        #expect(
            Self.found("<iframe srcdoc='<base href=/b/><img src=a>'></iframe><img src=c>")
                == ["base /b/", "image a (/b/)", "image c"])
        #expect(
            Self.found("<base href=o/><iframe srcdoc='<base href=i/><img src=u>'></iframe>")
                == ["base o/", "base i/ (o/)", "image u (o/ i/)"])
    }

    @Test("References in nested srcdoc documents are found, to a depth of three")
    func srcdoc() {
        #expect(Self.found("<iframe srcdoc='&lt;img src=&quot;a&amp;amp;b&quot;>'>") == ["image a&b"])
        var document = "<img src=a>"
        for depth in 0...3 {
            #expect(Self.found(document) == ["image a"], "\(depth)")
            let escaped = document.replacing("&", with: "&amp;").replacing("'", with: "&#39;")
            document = "<iframe srcdoc='\(escaped)'></iframe>"
        }
        #expect(Self.found(document) == [])
        let outer = RewritingTests.rewritten(document) { _ in nil }
        #expect(!outer.contains("src=a"), "a deeper document is emptied")
    }

    @Test("An SVG document is read as XML: style sheets in CDATA and in processing instructions, no raw text")
    func svg() {
        let document = """
            <?xml version="1.0"?><?xml-stylesheet href="s.css?a&amp;b" type="text/css"?>
            <svg xmlns="http://www.w3.org/2000/svg"><style><![CDATA[a{b:url(c.png?d&e)}]]></style>
            <style>f{g:url('h.png?i&amp;j')}</style><title><image href="k.png"/></title>
            <![CDATA[<image href="no.png"/>]]><!-- <image href="no.png"/> --></svg>
            """
        #expect(
            Self.found(document, isXML: true)
                == ["style s.css?a&b", "css c.png?d&e", "css h.png?i&j", "image k.png"])
    }

    @Test("An XML document may have prefixes, and declare entities for URLs; other declarations are dropped")
    func xmlNames() {
        #expect(Self.found("<h:link rel='stylesheet' href='a'/>", isXML: true) == ["style a"])
        #expect(Self.found("<image HREF='no' l:href='a' xlink:href='b'/>", isXML: true) == ["image a", "image b"])
        #expect(Self.found("<link REL='x' rel='stylesheet' href='a'/>", isXML: true) == ["style a"])
        let entity = "<!DOCTYPE svg [ <!-- > --> <!ENTITY u 'http://h/a'> ]><image href='&u;/b'/>"
        #expect(Self.found(entity, isXML: true) == ["image http://h/a/b"])
        for declaration in [
            "<!ENTITY a \"><!--\">", "<!ATTLIST image href CDATA 'x'>", "<!ENTITY a '<image href=\"x\"/>'>", "%b;",
        ] {
            let text = "<!DOCTYPE svg [\(declaration)]><image href='c'/>"
            let found = MarkupReferences(Array(text.utf8).span, isXML: true)
            #expect(found.references.map(\.text) == ["c"], "\(declaration)")
            let fixed = Rewriting(found.fixes).apply(to: Array(text.utf8))
            #expect(String(decoding: fixed, as: UTF8.self) == "<!DOCTYPE svg []><image href='c'/>")
        }
        let xslt = "<?xml-stylesheet type='text/xsl' href='a'?><x/>"
        let found = MarkupReferences(Array(xslt.utf8).span, isXML: true)
        #expect(found.references.isEmpty)
        #expect(
            String(decoding: Rewriting(found.fixes).apply(to: Array(xslt.utf8)), as: UTF8.self).hasPrefix(
                "<?no-style-sheet "))
        #expect(Self.found("<?xml-stylesheet title=\"href='x'\" href = 'a'?>", isXML: true) == ["style a"])
    }

    @Test("The title is the first title of HTML, decoded, with white space collapsed")
    func title() {
        func title(_ text: String) -> String? { MarkupReferences(Array(text.utf8).span, isXML: false).title }
        #expect(title("<title>\n a &amp;  <b> </title><title>c</title>") == "a & <b>")
        #expect(title("<svg><title>no</title></svg><title>yes</title>") == "yes")
        #expect(title("<p>no title") == nil)
        #expect(title("<title> </title>") == nil)
    }
}
