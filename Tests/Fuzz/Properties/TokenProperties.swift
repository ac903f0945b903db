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
            try demand(error.description.hasPrefix("line "), "an error names the line", error.description)
            return
        }
        try demand(Set(file.tokens.map(\.name)).count == file.tokens.count, "no name is repeated", bytes.text)
        for token in file.tokens {
            try demand(AccessToken.isName(token.name), "a name is valid", token.name)
            try demand(token.digest.count == 32, "a digest is a SHA-256", token.name)
            try demand(!token.scopes.isEmpty, "a token has at least one scope", token.name)
            try demand(token.namespaces?.isEmpty != true, "a list of namespaces is not empty", token.name)
            try demand(
                token.rate ?? 1 > 0 && token.rate ?? 1 <= 1e6, "a rate is above 0 and at most 1,000,000", token.name)
        }
        let text = file.tokens.map { $0.line + "\n" }.joined()
        try demand((try? TokenFile(text: text))?.tokens == file.tokens, "written tokens read back unchanged", text)
    }
}
