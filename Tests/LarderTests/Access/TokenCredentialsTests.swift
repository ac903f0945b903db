import Foundation
import Testing

@testable import Larder

@Suite("Tokens in credentials")
struct TokenCredentialsTests {
    private static let token = TokenSecret(name: "me").text

    private static func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

    private static func text(_ value: String) -> String? {
        TokenCredentials.token(in: value).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Bearer has a token, and Basic has one as its password or as its user name")
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

    @Test("Other credentials have none")
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

    @Test("A token is found in a URL raw and escaped, and in a field raw, escaped and in Basic")
    func escaped() {
        let token = Self.token
        func escape(_ text: String) -> String { text.utf8.map { "%" + String($0, radix: 16) }.joined() }
        for text in [
            token, "a=\(token)&b", token.replacing("_", with: "%5F"), token.replacing("l", with: "%6c"), escape(token),
            escape(escape(token)), "%\(escape(token))%4",
        ] {
            #expect(TokenSecret.isInEscaped("https://h/?t=" + text), "\(text)")
            #expect(TokenCredentials.areIn(text), "\(text)")
        }
        for text in ["", "%", "larder_me_x", "a%20b", String(repeating: "%25", count: 1000)] {
            #expect(!TokenSecret.isInEscaped(text), "\(text)")
        }
    }
}

extension String {
    fileprivate var lowercasedScheme: String { "basic" + dropFirst(5) }
}
