import Testing

@testable import DocumentationPage

@Suite("Descriptions as HTML")
struct MarkdownTests {
    @Test(
        "Inline Markdown of a description becomes HTML, and all other text is escaped",
        arguments: [
            ("a `b` c", "a <code>b</code> c"), ("**a**, *b*", "<strong>a</strong>, <em>b</em>"),
            ("**a `b`**", "<strong>a <code>b</code></strong>"),
            ("`*` and `<b>`", "<code>*</code> and <code>&lt;b&gt;</code>"),
            ("<https://a.test/?b=c&d>", "<a href=\"https://a.test/?b=c&amp;d\">https://a.test/?b=c&amp;d</a>"),
            ("<https://\"a>", "<a href=\"https://&quot;a\">https://&quot;a</a>"),
            // This text contains no supported Markdown, so it is only escaped.
            ("2 * 3 * 4", "2 * 3 * 4"), ("a ` b", "a ` b"), ("**a", "**a"), ("``", "``"), ("x < y", "x &lt; y"),
            ("<javascript:alert(1)>", "&lt;javascript:alert(1)&gt;"), ("<b>a</b>", "&lt;b&gt;a&lt;/b&gt;"),
            ("[a](javascript:b)", "[a](javascript:b)"), ("a & 'b'\u{0}", "a &amp; &#39;b&#39;\u{FFFD}"),
        ])
    func inline(text: String, html: String) {
        #expect(Markdown.inline(text).text == html)
    }

    @Test("Paragraphs, lists, tables and code blocks of a description become blocks of HTML")
    func blocks() {
        let text = """
            One
            paragraph.
            - a
              goes on
            - b

            1. first

            2. second

            | A | B |
            |---|---:|
            | `c` | d |

            ```json
            {"a": "<b>"}

            ```
            last
            """
        let expected: [MarkdownBlock] = [
            .paragraph("One\nparagraph."), .list(["a\ngoes on", "b"], isOrdered: false),
            .list(["first", "second"], isOrdered: true), .table([["A", "B"], ["`c`", "d"]]),
            .code("{\"a\": \"<b>\"}\n", language: "json"), .paragraph("last"),
        ]
        #expect(MarkdownBlock.blocks(of: text) == expected)
        let html = Markdown.html(text).text
        #expect(html.hasPrefix("<p>One\nparagraph.</p>\n<ul>\n<li>a\ngoes on</li>\n<li>b</li>\n</ul>\n<ol>\n"))
        #expect(html.contains("<th scope=\"col\">A</th>"))
        #expect(html.contains("<tr><td><code>c</code></td><td>d</td></tr>"))
        #expect(html.contains("<pre><code>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}\n</code></pre>"))
    }

    @Test(
        "A code block without an end extends to the end of the text",
        arguments: [("```sh\na\n\nb", "a\n\nb", "sh"), ("```", "", ""), ("x\n```\n", "", "")])
    func openCode(text: String, code: String, language: String) {
        #expect(MarkdownBlock.blocks(of: text).last == .code(code, language: language))
    }

    @Test("Each shell command of a description is shown separately, with all its lines")
    func commands() {
        let text = "curl a\nprintf x |\n  curl b \\\n  -d c\ncurl d"
        #expect(Markdown.commands(text) == ["curl a", "printf x |\n  curl b \\\n  -d c", "curl d"])
        let html = Markdown.html("```sh\n\(text)\n```").text
        #expect(html.matches(of: /<pre class="command">/).count == 3)
    }
}
