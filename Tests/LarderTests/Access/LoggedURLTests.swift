import Foundation
import Testing

@testable import Larder

@Suite("URLs in the log")
struct LoggedURLTests {
    @Test(
        "A URL is logged without its query",
        arguments: [
            ("http://h/", "http://h/"), ("http://h/a/b", "http://h/a/b"), ("http://h/?key=secret", "http://h/?…"),
            ("http://[::1]:8080/a?b?c", "http://[::1]:8080/a?…"), ("http://h", "http://h"), ("", ""), ("?a", "?…"),
        ])
    func query(url: String, logged: String) {
        #expect(LoggedURL.text(of: url) == logged)
    }

    @Test("A URL with a token in its path is logged with its scheme and host only")
    func token() {
        let token = TokenSecret(name: "ci").text
        for url in ["http://h:1/in/\(token)/path?x=1", "http://h:1/\(token)"] {
            #expect(LoggedURL.text(of: url) == "http://h:1/…")
        }
        #expect(LoggedURL.text(of: "http://h/?t=\(token)") == "http://h/?…")
        let encoded = Data("x:\(token)".utf8).base64EncodedString()
        for text in [token.replacing("l", with: "%6C"), token.replacing("_", with: "%5f"), encoded] {
            #expect(LoggedURL.text(of: "http://h:1/in/\(text)/a") == "http://h:1/…")
        }
        #expect(LoggedURL.text(of: "http://\(token)/") == "…")
    }
}
