import Foundation
import HTTPTypes
import Testing

@testable import Larder

@Suite("Tokens in credentials")
struct TokenCredentialsTests {
    private static let token = TokenSecret(name: "me").text

    private static func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

    private static func text(_ value: String) -> String? {
        TokenCredentials.token(in: value).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Bearer holds a token, and Basic holds a token as its password or as its user name")
    func found() {
        let token = Self.token
        for value in [
            "Bearer \(token)", "bearer  \(token)", Self.basic("x:\(token)"), Self.basic(":\(token)"),
            Self.basic("\(token):"), Self.basic("\(token):x"), Self.basic("\(token)"),
            Self.basic("a:\(token)").lowercasedScheme,
            Self.basic("ab:\(token)").replacing("=", with: ""),
        ] {
            #expect(Self.text(value) == token, "\(value)")
            #expect(TokenCredentials.wellFormedToken(in: value) != nil, "\(value)")
            #expect(TokenCredentials.areIn(value), "\(value)")
        }
        let other = TokenSecret(name: "other").text
        #expect(Self.text(Self.basic("\(other):\(token)")) == token)
    }

    @Test("Credentials with another scheme, a plain password or a malformed token contain no token")
    func none() {
        let secret = String(repeating: "A", count: 43)
        for value in [
            "", "Bearer", "Basic", "Basic !", "Digest \(Self.token)", Self.basic("user:password"),
            Self.basic("x:larder_me"), Self.basic("x:larder_me_short"), Self.basic("x:larder__\(secret)"),
            Self.basic("x:larder_Me_\(secret)"), Self.basic("x:larder_me_\(secret)."), Self.basic("x:a\(Self.token)"),
            Self.basic("x:\(Self.token)\(secret)\(secret)"),
        ] {
            #expect(TokenCredentials.wellFormedToken(in: value) == nil, "\(value)")
        }
        #expect(Self.text("Bearer x") == "x")
    }

    @Test("The search for tokens finds a token raw and escaped, in a URL and in a field")
    func escaped() {
        let token = Self.token
        func escape(_ text: String) -> String { text.utf8.map { "%" + String($0, radix: 16) }.joined() }
        for text in [
            token, "a=\(token)&b", token.replacing("_", with: "%5F"), token.replacing("l", with: "%6c"), escape(token),
            escape(escape(token)), "%\(escape(token))%4",
        ] {
            #expect(TokenCredentials.areIn("https://h/?t=" + text), "\(text)")
            #expect(TokenCredentials.areIn(text), "\(text)")
        }
        for text in ["", "%", "larder_me_x", "a%20b", String(repeating: "%25", count: 1000)] {
            #expect(!TokenCredentials.areIn(text), "\(text)")
        }
    }

    @Test(
        "The search for tokens finds a token in Base64 of either alphabet, unpadded, within text, or encoded repeatedly"
    )
    func encoded() {
        let token = Self.token
        func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
        let inner = base64("x:\(token)")
        var texts = (0..<4).map { base64(String(repeating: "~", count: $0) + token) }
        texts += (0..<4).map { String(repeating: "a", count: $0) + inner }
        texts += ["s=\(inner); t=u", "a/\(inner)", inner.replacing("=", with: ""), base64(inner), base64("a%\(inner)")]
        texts += [inner.replacing("=", with: "%3D"), base64(token.replacing("_", with: "%5F"))]
        texts += [base64("\u{3ff}?>:\(token)").replacing("+", with: "-").replacing("/", with: "_")]
        texts += ["Basic\t\(inner)", "\(inner.prefix(40)) \(inner.dropFirst(40))"]
        texts += ["u:\(token)\n", "u: \(token)", "u:\(token):x", "u:p:\(token)"].map(base64)
        for text in texts {
            #expect(TokenCredentials.areIn(text), "\(text)")
        }
        let nothing = String(repeating: "A", count: 1000)
        for text in [nothing, base64(nothing), base64("larder_me_x"), base64("user:" + nothing), inner.uppercased()] {
            #expect(!TokenCredentials.areIn(text), "\(text)")
        }
    }

    @Test("The search for tokens finds a token in the name of a field, in upper or lower case")
    func name() throws {
        for name in [Self.token, Self.token.uppercased(), Self.token.lowercased()] {
            #expect(TokenCredentials.areIn(HTTPField(name: try #require(HTTPField.Name(name)), value: "x")))
        }
        #expect(!TokenCredentials.areIn(HTTPField(name: .cacheControl, value: "larder_me")))
    }

    @Test("A line end behind the user name and password of Basic is ignored; any other character is not")
    func lineEnd() {
        let token = Self.token
        for end in ["\n", "\r\n", "\n\n"] {
            #expect(Self.text(Self.basic("u:\(token)\(end)")) == token)
            #expect(Self.text(Self.basic("\(token):\(end)")) == token)
        }
        for pair in ["u: \(token)", "u:\(token) ", "u:\(token)\t", "u:\(token):x", "u:p:\(token)", "u:\n\(token)"] {
            #expect(TokenCredentials.wellFormedToken(in: Self.basic(pair)) == nil, "\(pair)")
        }
    }

    @Test("The search for tokens takes bounded time in any text")
    func bounded() {
        let runs = String(repeating: "QUFB", count: 8 << 10)
        let nested = (0..<3).reduce(runs) { text, _ in Data(text.utf8).base64EncodedString() }
        let escaped = String(repeating: "%2541", count: 8 << 10)
        let start = ContinuousClock.now
        for text in [runs, String(nested.prefix(32 << 10)), escaped] { #expect(!TokenCredentials.areIn(text)) }
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}

extension String {
    fileprivate var lowercasedScheme: String { "basic" + dropFirst(5) }
}

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
