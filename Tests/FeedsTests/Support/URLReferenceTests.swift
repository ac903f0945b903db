import Testing

@testable import Feeds

@Suite("Relative URLs in feeds")
struct URLReferenceTests {
    @Test(
        "A reference is resolved against a base (RFC 3986 §5.4)",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"), ("..", "http://a/b/"), ("../../../g", "http://a/g"), ("tag:x", "tag:x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), (" g\n", "http://a/b/c/g"),
        ])
    func resolve(reference: String, expected: String) {
        let found = URLReference.resolve(reference, "http://a/b/c/d;p?q")
        #expect(found == expected || reference == "//g" && found == "http://g")
        #expect(URLReference.resolve("g", nil) == "g" && URLReference.resolve("g", "tag:x") == "g")
    }
}
