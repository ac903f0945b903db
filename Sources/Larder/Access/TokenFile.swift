import DiskCache
import Foundation
import Primitives

/// The file of tokens, with a token on each line: `name=ci sha256=… scopes=read,download namespaces=default rate=100`.
///
/// Empty lines and lines that begin with `#` are ignored. `namespaces` is a list or `*`; `rate` is optional.
package struct TokenFile: Sendable {
    package struct Invalid: Error, Sendable, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }

        fileprivate static func cannotWrite(_ path: String, _ code: Int32) -> Self {
            Self("cannot write \(path): \(String(cString: strerror(code)))")
        }
    }

    /// In bytes.
    static let sizeLimit = 1 << 20

    package let tokens: [AccessToken]
    private let text: String

    /// Throws ``Invalid`` when the file cannot be read or parsed, and when all users may write to it.
    package init(at path: String) throws(Invalid) {
        func invalid(_ reason: String) -> Invalid { Invalid("\(path): \(reason)") }
        var status = stat()
        guard stat(path, &status) == 0 else { throw invalid(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw invalid("this is a directory; expected a token file") }
        guard status.st_mode & S_IWOTH == 0 else {
            throw invalid("all users may write to this file; run chmod o-w on it")
        }
        guard status.st_size <= Self.sizeLimit else {
            throw invalid("the file is larger than the limit of \(Self.sizeLimit) bytes")
        }
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: path))
        } catch {
            let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
            let reason = code.map { String(cString: strerror($0)) } ?? "\(error)"
            throw invalid(code == EACCES ? "\(reason); give the user that runs Larder read access" : reason)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw invalid("the file is not UTF-8") }
        try self.init(text: text, of: path)
    }

    init(text: String, of path: String? = nil) throws(Invalid) {
        var tokens: [AccessToken] = []
        var names: Set<String> = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimming(while: \.isWhitespace)
            if line.isEmpty || line.hasPrefix("#") { continue }
            do throws(Invalid) {
                let token = try AccessToken(line: line)
                guard names.insert(token.name).inserted else {
                    throw Invalid("token \(token.name) exists already; remove it first, or choose another name")
                }
                tokens.append(token)
            } catch {
                throw Invalid("\(path.map { "\($0), " } ?? "")line \(number + 1): \(error.description)")
            }
        }
        self.text = text
        self.tokens = tokens
    }

    /// Adds a token. Creates a missing file, readable by its owner only. Throws ``Invalid``, also if the name exists.
    package static func add(_ token: AccessToken, at path: String) throws(Invalid) {
        let path = target(of: path)
        try withLock(of: path) { () throws(Invalid) in
            let text = try access(path, F_OK) == 0 ? TokenFile(at: path).text : heading
            let separator = text.isEmpty || text.hasSuffix("\n") ? "" : "\n"
            try replace(path, by: text + separator + token.line + "\n")
        }
    }

    /// Throws ``Invalid``, also when the file has no token with this name.
    package static func remove(_ name: String, at path: String) throws(Invalid) {
        let path = target(of: path)
        try withLock(of: path) { () throws(Invalid) in
            let file = try TokenFile(at: path)
            guard file.tokens.contains(where: { $0.name == name }) else {
                throw Invalid("\(path): token \(name) does not exist; \"larder token list\" shows all tokens")
            }
            let lines = file.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            let kept = lines.filter { line in
                (try? AccessToken(line: line.trimming(while: \.isWhitespace)))?.name != name
            }
            try replace(path, by: kept.joined(separator: "\n"))
        }
    }

    /// Resolves symbolic links, so that the file is replaced and not the link.
    private static func target(of path: String) -> String {
        guard let target = realpath(path, nil) else { return path }
        defer { free(target) }
        return String(cString: target)
    }

    private static let heading = """
        # Larder's tokens. Only the SHA-256 of each token is kept: the token itself was shown once. "larder token" adds and
        # removes lines; a running server reloads the file on SIGHUP.

        """

    private static func withLock(of path: String, _ body: () throws(Invalid) -> Void) throws(Invalid) {
        // Locks the directory and not the file, because a change replaces the file by a new one.
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotWrite(path, errno) }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX) == 0 else { throw .cannotWrite(path, errno) }
        try body()
        fsync(descriptor)
    }

    private static func replace(_ path: String, by text: String) throws(Invalid) {
        // Parses the text first, so that a text that the server could not read is never written.
        _ = try TokenFile(text: text, of: path)
        let temporary = "\(path).\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotWrite(path, errno) }
        defer { close(descriptor) }
        // Gives the new file the owner, group and mode of the old file, so that the same users can read it.
        var old = stat()
        let isOwned =
            stat(path, &old) != 0
            || (fchown(descriptor, old.st_uid, old.st_gid) == 0 && fchmod(descriptor, old.st_mode & 0o777) == 0)
        let bytes = Array(text.utf8)
        guard isOwned, write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0,
            rename(temporary, path) == 0
        else {
            let code = errno
            unlink(temporary)
            throw .cannotWrite(path, code)
        }
    }
}

extension AccessToken {
    fileprivate init(line: Substring) throws(TokenFile.Invalid) {
        var values: [Substring: Substring] = [:]
        for word in line.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw .init("\"\(word)\" is not of the form name=value") }
            guard ["name", "sha256", "scopes", "namespaces", "rate"].contains(parts[0]) else {
                throw .init("unknown field \"\(parts[0])\"; expected name, sha256, scopes, namespaces or rate")
            }
            guard values.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw .init("\(parts[0]) is given twice; give it once")
            }
        }
        guard let name = values["name"].map(String.init), Self.isName(name) else {
            throw .init("name must be 1 to 63 characters of a-z, 0-9 and -")
        }
        guard let digest = values["sha256"].flatMap({ Self.bytes(hex: $0) }), digest.count == 32 else {
            throw .init("sha256 must be 64 hexadecimal digits")
        }
        let words = values["scopes"]?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        let scopes = words.compactMap { Scope(rawValue: String($0)) }
        guard !words.isEmpty, scopes.count == words.count else {
            throw .init("scopes must be a list of \(Scope.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard let list = values["namespaces"] else {
            throw .init("namespaces must be a list of namespaces, or * for all")
        }
        let namespaces =
            list == "*" ? nil : Set(list.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
        guard namespaces?.allSatisfy(NamespaceName.isValid) ?? true else {
            throw .init("a namespace must be 1 to 63 characters of a-z, 0-9 and -")
        }
        var rate: Double?
        if let text = values["rate"] {
            guard let number = Double(text), number > 0, number <= 1e6 else {
                throw .init("rate must be a number of requests a second")
            }
            rate = number
        }
        self.init(name: name, digest: digest, scopes: Set(scopes), namespaces: namespaces, rate: rate)
    }

    var line: String {
        var words = [
            "name=\(name)", "sha256=\(digest.hex)", "scopes=\(scopes.map(\.rawValue).sorted().joined(separator: ","))",
            "namespaces=\(namespaces.map { $0.sorted().joined(separator: ",") } ?? "*")",
        ]
        if let rate { words.append("rate=\(rate)") }
        return words.joined(separator: " ")
    }

    private static func bytes(hex text: Substring) -> [UInt8]? {
        let digits = text.utf8.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

/// A token as the server stores it: without its secret.
package struct AccessToken: Hashable, Sendable {
    /// 1 to 63 characters from `a` to `z`, `0` to `9` and `-`. Names are unique within a file.
    package let name: String
    /// The SHA-256 of the whole token, as its bearer sends it.
    package let digest: [UInt8]
    /// At least one scope.
    package let scopes: Set<Scope>
    /// The namespaces that the bearer may use; `nil`: all.
    package let namespaces: Set<String>?
    /// The permitted requests per second; a burst may have twice as many. `nil`: unlimited.
    package let rate: Double?

    package init(name: String, digest: [UInt8], scopes: Set<Scope>, namespaces: Set<String>?, rate: Double?) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.namespaces = namespaces
        self.rate = rate
    }

    package func isFor(namespace: String) -> Bool { namespaces?.contains(namespace) ?? true }

    /// The namespace for requests that name no namespace, if the token is for exactly one; else `nil`.
    package var ownNamespace: String? { namespaces?.count == 1 ? namespaces?.first : nil }

    package static func isName(_ text: String) -> Bool { CacheDirectory.isNamespace(text) }
}

/// A permission of the bearer of a token.
package enum Scope: String, CaseIterable, Sendable {
    /// Read entries, and watch downloads.
    case read
    /// Fetch URLs by a download or through the gateway, and cancel downloads.
    case download
    /// Store bodies, and change the metadata of entries.
    case write
    /// Remove entries.
    case purge
    /// Hand over changes for origins, read and decide about them, and store the credentials for them.
    case send
    /// Read counters, free memory, and create and remove namespaces.
    case admin
}

package enum NamespaceName {
    /// The namespace of requests that name no namespace. It always exists.
    package static let `default` = "default"

    /// Whether a text matches `[a-z0-9-]{1,63}`.
    package static func isValid(_ text: String) -> Bool { CacheDirectory.isNamespace(text) }
}
