import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

/// Tokens that programs send as a user name or a password, because some programs cannot send other credentials.
@Suite("Tokens in Basic credentials and in URLs")
struct BasicTokenTests {
    private static func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

    /// Starts an origin that answers with the credentials that it received.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let fields = request.fields.filter { $0.name.canonicalName.contains("authorization") }
            try connection.respond(body: fields.map { "\($0.name): \($0.value)" }.joined(separator: ","))
        }
    }

    @Test("Every call accepts a token as the user name or password of Basic, and the origin does not get the token")
    func counts() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me"), .init(name: "reader", scopes: [.read])])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let secret = tokens.secret("me")
            var number = 0
            for value in [
                Self.basic("x:\(secret)"), Self.basic("\(secret):"), Self.basic("\(secret):x"), "Bearer \(secret)",
            ] {
                let entries = try await server.client.request("GET", "/entries", fields: [.authorization: value])
                #expect(entries.status == 200, "\(value)")
                for name in [HTTPField.Name.authorization, .proxyAuthorization] {
                    number += 1
                    let target = "/fetch/\(origin.url("/\(number)"))"
                    let reply = try await server.client.request("GET", target, fields: [name: value])
                    #expect(reply.status == 200 && reply.text == "", "\(name): \(value), \(reply.text)")
                }
            }
            // A token in Basic has no more scopes than the same token in Bearer.
            let reader = Self.basic("x:\(tokens.secret("reader"))")
            for (method, target) in [("GET", "/fetch/\(origin.url("/"))"), ("DELETE", "/entries/a")] {
                let reply = try await server.client.request(method, target, fields: [.authorization: reader])
                #expect(reply.status == 403, "\(method)")
            }
            #expect(origin.requestCount == number)
        }
    }

    @Test(
        "A request with Larder-Authorization passes Authorization to the origin unless Authorization has a token")
    func beside() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me"), .init(name: "reader", scopes: [.read])])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let own = HTTPField.Name("Larder-Authorization")!
            func ask(_ path: String, _ fields: HTTPFields) async throws -> HTTPReply {
                try await server.client.request("GET", "/fetch/\(origin.url(path))", fields: fields)
            }
            let mine = "Bearer \(tokens.secret("me"))"
            let reader = Self.basic("x:\(tokens.secret("reader"))")
            let both = try await ask("/a", [own: mine, .authorization: reader])
            #expect(both.status == 200 && both.text == "")
            #expect(try await ask("/b", [own: reader, .authorization: mine]).status == 403)
            let others = try await ask("/c", [own: mine, .authorization: "Basic dTpw"])
            #expect(others.text.lowercased() == "authorization: basic dtpw")
            // Credentials without a token do not authorize a caller.
            #expect(try await ask("/d", [.authorization: "Basic dTpw"]).status == 401)
        }
    }

    @Test(
        "Even a server without tokens removes a Larder token from Authorization, and refuses a token in any other field"
    )
    func withoutTokens() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let secret = TokenSecret(name: "me").text
            for (index, value) in ["Bearer \(secret)", Self.basic("x:\(secret)")].enumerated() {
                let target = "/fetch/\(origin.url("/\(index)"))"
                let reply = try await server.client.request("GET", target, fields: [.authorization: value])
                #expect(reply.status == 200 && reply.text == "")
            }
            let custom = HTTPField.Name("X-Registry-Auth")!
            for value in [secret, Self.basic("x:\(secret)"), secret.replacing("_", with: "%5F")] {
                let reply = try await server.client.request(
                    "GET", "/fetch/\(origin.url("/z"))", fields: [custom: value])
                #expect(reply.status == 400, "\(value)")
                let json: JSON = ["url": .string(origin.url("/z")), "headers": ["X-Registry-Auth": .string(value)]]
                let download = try await server.client.request(
                    "POST", "/download", fields: [.contentType: "application/json"], body: json.utf8)
                #expect(download.status == 400, "\(value)")
            }
            #expect(origin.requestCount == 2)
        }
    }

    @Test(
        "A token in malformed credentials, or in another field for the origin, gets 400, and Larder contacts no origin"
    )
    func otherForms() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me")])
        let token = tokens.secret("me")
        let inner = String(Self.basic("x:\(token)").dropFirst(6))
        let escaped = Self.basic("x:\(token.replacing("_", with: "%5F"))")
        let url64 = Self.basic("\u{3ff}?>:\(token)").replacing("+", with: "-").replacing("/", with: "_")
        var forms: [(name: String, value: String)] = [
            Self.basic("u: \(token)"), Self.basic("u:\(token):x"), Self.basic("u:p:\(token)"), escaped, url64,
            "Basic\t\(inner)", "Digest a=b, Basic \(inner)", inner, inner.replacing("=", with: ""), "Token \(token)",
        ].map { ("Authorization", $0) }
        forms += [
            ("X-Auth", inner), ("X-Auth", Self.basic("x:\(token)\n")), ("Cookie", "a=b; s=\(inner)"), (token, "x"),
        ]
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            for (name, value) in forms {
                let field = HTTPField(name: try #require(HTTPField.Name(name)), value: value)
                for target in ["/fetch/\(origin.url("/a"))", "/fetch?url=\(origin.url("/a").percentEncoded)"] {
                    var fields = tokens.fields("me", for: target)
                    fields.append(field)
                    let reply = try await server.client.request("GET", target, fields: fields)
                    #expect(reply.status == 400 && !reply.text.contains(token), "\(name): \(value)")
                }
                var fields = tokens.fields("me", for: "/download")
                fields[.contentType] = "application/json"
                let json: JSON = [
                    "url": .string(origin.url("/a")), "headers": .object([.init(name, .string(value))]),
                ]
                let reply = try await server.client.request("POST", "/download", fields: fields, body: json.utf8)
                #expect(reply.status == 400, "\(name): \(value)")
            }
            #expect(origin.requestCount == 0)
            // A line end behind the token has no effect, because shells may add it.
            for pair in ["u:\(token)\n", "\(token):\r\n"] {
                let fields: HTTPFields = [.authorization: Self.basic(pair)]
                #expect(try await server.get("/entries", fields: fields).status == 200)
                let reply = try await server.get("/fetch/\(origin.url("/b"))", fields: fields)
                #expect(reply.status == 200 && reply.text == "")
            }
        }
    }

    @Test("A call with a raw or percent-encoded token in its path gets 400, with or without credentials")
    func inPath() async throws {
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let token = tokens.secret("me")
            let base64 = String(Self.basic("x:\(token)").dropFirst(6)).percentEncoded
            for text in [token, token.replacing("l", with: "%6C"), token.replacing("_", with: "%5f"), base64] {
                for (method, path) in [
                    ("GET", "/entries/\(text)"), ("PUT", "/entries/\(text)/content"), ("GET", "/@\(text)/entries"),
                    ("DELETE", "/entries/\(text)"), ("PUT", "/namespaces/\(text)"), ("GET", "/nowhere/\(text)"),
                    ("GET", "/dashboard/\(text)"), ("GET", "/livez?t=\(text)"), ("POST", "/\(text)"),
                ] {
                    for fields: HTTPFields in [[:], tokens.fields("me", for: path)] {
                        // This client makes no check against openapi.yaml, because the document lacks some paths.
                        let reply = try await HTTPClient(port: server.api.port).request(method, path, fields: fields)
                        #expect(reply.status == 400, "\(method) \(path)")
                        #expect(reply.text.contains("the URL contains a token") && !reply.text.contains(token))
                    }
                }
            }
        }
    }

    @Test("Larder refuses a raw or percent-encoded token in a query or in the URL of an origin, and contacts no origin")
    func inURL() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let secret = tokens.secret("me")
            let encoded = secret.utf8.map { "%" + String($0, radix: 16) }.joined()
            for text in [secret, secret.replacing("_", with: "%5f"), encoded, encoded.percentEncoded] {
                let url = origin.url("/a?token=\(text)")
                for target in [
                    "/entries?token=\(text)", "/entries?tag=\(text)", "/fetch/\(url)",
                    "/fetch/\(origin.url("/\(text)/a"))", "/fetch?url=\(url.percentEncoded)",
                    "/json?url=\(url.percentEncoded)", "/events?token=\(text)",
                ] {
                    let reply = try await server.client.request("GET", target, fields: tokens.fields("me", for: target))
                    #expect(reply.status == 400, "\(target)")
                    #expect(!reply.text.contains(secret))
                    #expect(try await server.client.request("GET", target).status == 400, "\(target)")
                }
                var fields = tokens.fields("me", for: "/download")
                fields[.contentType] = "application/json"
                let json: JSON = ["url": .string(url)]
                let reply = try await server.client.request("POST", "/download", fields: fields, body: json.utf8)
                #expect(reply.status == 400, "\(url)")
            }
            #expect(origin.requestCount == 0)
        }
    }

    @Test("A 401 offers the schemes Bearer and Basic, but to scripts of web pages it offers only Bearer")
    func challenge() async throws {
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let mode = HTTPField.Name("Sec-Fetch-Dest")!
            let requests: [(HTTPFields, Bool)] = [([:], true), ([mode: "document"], true), ([mode: "empty"], false)]
            for (fields, isOffered) in requests {
                let reply = try await server.client.request("GET", "/entries", fields: fields)
                let challenges = reply.fields[values: .wwwAuthenticate]
                #expect(reply.status == 401)
                #expect(challenges.contains { $0.hasPrefix("Bearer realm=") })
                #expect(challenges.contains { $0.hasPrefix("Basic realm=\"larder\"") } == isOffered)
            }
        }
    }
}
