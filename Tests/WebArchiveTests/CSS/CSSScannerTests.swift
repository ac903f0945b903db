import Testing

@testable import WebArchive

@Suite("The URLs of style sheets")
struct CSSScannerTests {
    static func found(_ text: String) -> [String] {
        CSSScanner.urls(in: Array(text.utf8).span).map { ($0.isImport ? "@" : "") + $0.text }
    }

    @Test(
        "Each URL is found, with its escapes decoded",
        arguments: [
            ("a{b:url(c.png)}", "c.png"), ("a{b:URL( c.png\n)}", "c.png"), ("a{b:url(\"c d.png\")}", "c d.png"),
            ("a{b:url('c')}", "c"), ("a{b:u\\72l(c)}", "c"), ("a{b:\\75 rl(c)}", "c"), ("a{b:url(c\\)d)}", "c)d"),
            ("a{b:url(c\\29 d)}", "c)d"), ("a{b:url('c\\\nd')}", "cd"), ("a{b:url('c\\'d')}", "c'd"),
            ("a{b:url(c)url(d)}", "c|d"), ("a{b:url(c)format('woff2'),url(d)}", "c|d"), ("a{--v:url(c)}", "c"),
            ("a{b:src('c')}", "c"), ("@import 'a.css';", "@a.css"), ("@import url(a.css) screen;", "@a.css"),
            ("@import url('a.css')layer(x);", "@a.css"), ("@IMPORT/**/\"a.css\"", "@a.css"), ("@\\69mport 'a';", "@a"),
            ("@import url(a)supports(b:url(c));", "@a|c"), ("a{b:image-set('c' 1x, url(d) 2x)}", "c|d"),
            ("a{b:-webkit-image-set('c' 1x,'d' 2x)}", "c|d"), ("a{b:image-set('c' type('image/png'))}", "c"),
            ("@media print{a{b:url(c)}}", "c"), ("@font-face{src:local('x'),url(y)}", "y"), ("a{b:url(c", "c"),
            ("@namespace s url(n);a{b:url(c)}", "c"), ("@charset 'x';a{b:url(c)}", "c"), ("a{b:url(\\000063)}", "c"),
            ("a{b:url(日本.png)}", "日本.png"), ("a{b:url()}", ""),
            ("a{--x:#url(x ')')} b{c:url(d)} e{--y:'}", "d"), ("a{b:#src(x \")\")} c{d:url(e)}", "e"),
            ("<!--url(') x{} b{c:url(d)} e{--y:'}", ") x{} b{c:url(d)} e{--y:"),
            ("@namespace s /* ' */ url(n); a{b:url(c)} /* ' */", "c"), ("a{b:url('c\\\r\nd')}", "cd"),
            ("a{b:url(c\0d)}", "c\0d"),
            ("a{b:src(c)}", ""),
            ("@import \"\\41\n.css\";@import \"b.css\";", "@A.css|@b.css"), ("a{b:'\\41\r\n' url(c)}", "c"),
            ("a{b:url(c\\", "c\u{fffd}"), ("a{b:url('c\\", "c"), ("@import 'c\\", "@c"),
            ("a{b:image-set(linear-gradient(red, var(--c)), 'd' 1x)}", "d"),
            ("@namespace x f(;a{b:url(c)}", "c"), ("a{b:image-set(var(@namespace))}", "substitution:"),
        ])
    func urls(text: String, expected: String) {
        #expect(Self.found(text).joined(separator: "|") == expected)
    }

    @Test(
        "A function in the place of a URL is replaced as a whole, because its text may be anywhere",
        arguments: [
            ("a{b:image-set(var(--n, 'c') 1x)}", "a{b:image-set(\"/v\" 1x)}"),
            ("a{b:src( v\\61r(--x))}", "a{b:src( \"/v\")}"), ("a{b:image-set(--f(url(c), d(e)", "a{b:image-set(\"/v\""),
            ("a{b:image-set(url(c) var(--x))}", "a{b:image-set(url(\"/v\") \"/v\")}"),
        ])
    func substitutions(text: String, expected: String) {
        let bytes = Array(text.utf8)
        let rewriting = Rewriting(StyleReferences.references(in: bytes.span)) { _ in "/v" }
        #expect(String(decoding: rewriting.apply(to: bytes), as: UTF8.self) == expected)
    }

    @Test(
        "Text that a browser does not read as a URL is none",
        arguments: [
            "/* url(a) */", "a{b:'url(a)'}", "a{b:\"\\\"url(a)\"}", "a{b:xurl(a)}", "a{b:url-x(a)}", "a{b:url (a)}",
            "@namespace url(a);", "@namespace src(var(;", "@namespace s 'a';", "a{b:url(a b)}", "a{b:url(a'b)}",
            "a{b:url(a(b)c)}",
            "a{b:format('x')}",
            "a{b:'c'}", "a{b:attr(x 'url')}", "/* @import 'a'; ", "a{b:url('a\n')}",
            "a{content:'image-set(\"x\")'}",
        ])
    func noURLs(text: String) {
        #expect(Self.found(text) == [])
    }
}
