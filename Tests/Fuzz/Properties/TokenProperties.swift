import Primitives

@testable import Larder

/// The text of a token file.
enum TokenProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        if let name = bytes.withUnsafeBytes({ TokenSecret.name(in: $0) }) {
            try demand(bytes.starts(with: TokenSecret.prefix.utf8), "only a token has a name", name)
        }
        let file: TokenFile
        do throws(TokenFile.Invalid) {
            file = try TokenFile(text: bytes.text)
        } catch {
            // The error states the line and the mistake. It does not repeat text that could be a secret.
            try demand(error.description.hasPrefix("line "), "an error says the line", error.description)
            return
        }
        try demand(Set(file.tokens.map(\.name)).count == file.tokens.count, "each name is there once", bytes.text)
        for token in file.tokens {
            try demand(AccessToken.isName(token.name), "a name is one", token.name)
            try demand(token.digest.count == 32, "a digest is a SHA-256", token.name)
            try demand(!token.scopes.isEmpty, "a token is good for something", token.name)
            try demand(token.namespaces?.isEmpty != true, "and somewhere", token.name)
            try demand(token.rate ?? 1 > 0 && token.rate ?? 1 <= 1e6, "a rate is a number above zero", token.name)
        }
        let text = file.tokens.map { $0.line + "\n" }.joined()
        try demand((try? TokenFile(text: text))?.tokens == file.tokens, "tokens are read as they are written", text)
    }
}
