import Testing
import WebArchive

@Suite("The readable text of documents")
struct ReadableTextTests {
    private func text(_ document: String, isXML: Bool = false) -> String {
        String(decoding: ReadableText.text(of: Array(document.utf8), isXML: isXML), as: UTF8.self)
    }

    @Test("Each block has a line of its own, and white space within a block is collapsed")
    func blocks() {
        #expect(text("<h1>Tea</h1>\n<p>Green   &amp;\n <b>bl</b>ack<br>hot</p>") == "Tea\nGreen & black\nhot\n")
        #expect(text("<table><tr><td>a<td>b<tr><td>c</table>") == "a b\nc\n")
        #expect(text("no tags") == "no tags\n")
        #expect(text("") == "" && text("<p></p>") == "")
    }

    @Test("Scripts, styles, titles, templates, comments and declarations have no text")
    func hidden() {
        let document = """
            <!doctype html><title>T</title><style>a{}</style><script>if (a < b) "<p>x"</script><!-- <p>c --> a\
            <template><p>t</template><?php x ?></ y> b <svg><style>s</style><text>c</text></svg>
            """
        #expect(text(document) == "a b c\n")
    }

    @Test("A less-than sign that begins no tag is text, and an unfinished tag at the end is none")
    func signs() {
        #expect(text("<p>1 < 2 & 3") == "1 < 2 & 3\n")
        #expect(text("<p>a<b") == "a\n")
        #expect(text("<p>a<") == "a<\n")
    }

    @Test("The lines of pre and the text of textarea stay")
    func preformatted() {
        #expect(text("x<pre>a\n  b\n\nc</pre>y") == "x\na\n  b\n\nc\ny\n")
        #expect(text("<textarea>a <b> c</textarea>") == "a <b> c\n")
    }

    @Test("XHTML documents have text")
    func xml() {
        #expect(text("<?xml version='1.0'?><html><body><p>a</p><p>b</p></body></html>", isXML: true) == "a\nb\n")
    }
}
