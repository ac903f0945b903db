import Primitives

/// Paths of bodies in the readable layout, relative to the namespace's directory:
/// `QUrlCaches/<scheme>/<host[_port]>/<path…>/<leaf><?query>` and `QDataCaches/<key>`.
///
/// A path is a pure function of the key and the URL. For every input:
///
/// 1. Each component has 1 to 255 bytes, is neither `.` nor `..`, and contains no `/` and no NUL. The path has at most
///    ``maximumLength`` bytes and ``maximumDepth`` components. It therefore never leaves its root.
/// 2. Two keys never get the same path. A name is *plain* when its part of the URL can be reconstructed exactly from
///    it. Where a plain name would be empty, too long or ambiguous, the file's name ends in `~` and the key.
/// 3. No directory's name ends in `~` and a key. A file with such a name therefore never collides with a directory.
///
/// | in the URL | in the path |
/// |---|---|
/// | no leaf (`/`, `/a/`) | `@index` |
/// | an empty segment (`/a//b`) | the directory `@empty`, and `~<key>` behind the leaf |
/// | `/` in the query | `%2f` |
/// | a name over 255 bytes | cut, and `~<key>` behind the leaf |
/// | deeper or longer than the limits | the outer directories that fit, and `~<key>` behind the leaf |
/// | a leaf `@index`, `%2f` in the query, a name that ends like `~<key>` | as it is, and `~<key>` behind the leaf |
/// | a directory's name that ends like `~<key>` | with `%7E` for the `~`, and `~<key>` behind the leaf |
/// | a host that ends in `_` and digits, without a port | as it is, and `~<key>` behind the leaf |
/// | request fields, so that the key is not the MD5 of the URL | `~<key>` behind the leaf |
///
/// Percent-escapes stay as in the canonical URL, so names that differ only after decoding have different paths.
package enum ReadablePath {
    /// Bytes. With a cache directory in front and `~<key>` behind, the path stays under PATH_MAX.
    package static let maximumLength = 3500
    /// Components. Keeps a single URL from making thousands of directories.
    package static let maximumDepth = 64
    /// Bytes of a file name on Linux file systems (NAME_MAX).
    static let maximumNameLength = 255

    package static func path(forURL url: String, key: CacheKey) -> String {
        let parts = URLParts(url)
        // `http://a` would have the same path as `http://a/`.
        var isPlain = key == .url(canonical: url) && parts.hasPath
        var directories = ["QUrlCaches"]
        for segment in [parts.scheme, hostName(parts, isPlain: &isPlain)] + parts.segments.dropLast() {
            directories.append(directoryName(segment, isPlain: &isPlain))
        }
        var leaf = leafName(parts, isPlain: &isPlain)
        if leaf.utf8.count > maximumNameLength || markIndex(in: leaf) != nil { isPlain = false }

        var room = maximumLength - maximumNameLength
        let fitting = directories.prefix(maximumDepth - 1).prefix { directory in
            room -= directory.utf8.count + 1
            return room >= 0
        }
        if fitting.count < directories.count { isPlain = false }
        if !isPlain { leaf = name(leaf, markedWith: key) }
        return (fitting + [leaf]).joined(separator: "/")
    }

    package static func path(forData key: CacheKey) -> String {
        var isPlain = true
        let name = safeName(key.text.utf8, isPlain: &isPlain)
        if name.utf8.count > maximumNameLength || markIndex(in: name) != nil { isPlain = false }
        return "QDataCaches/" + (isPlain ? name : Self.name(name, markedWith: key))
    }

    /// The next path to try after `path`: `path` with `~` and the key, or `path` itself if it ends in them already.
    package static func alternative(for path: String, key: CacheKey) -> String {
        let (directory, leaf) = split(path)
        return unmarked(leaf, key) == nil ? directory + name(leaf, markedWith: key) : path
    }

    /// Appends `~` and the number. If the file name has no room for them, cuts the text before its `~` and key.
    static func numbered(_ path: String, _ number: Int, key: CacheKey) -> String {
        let end = "~\(number)"
        let (directory, leaf) = split(path)
        guard leaf.utf8.count + end.utf8.count > maximumNameLength else { return path + end }
        return directory + name(unmarked(leaf, key) ?? leaf, markedWith: key, end: end)
    }

    private static func split(_ path: String) -> (directory: Substring, leaf: String) {
        let start = path.lastSlash.map { path.utf8.index(after: $0) } ?? path.startIndex
        return (path[..<start], String(path[start...]))
    }

    /// Removes the `~` and the key at the end of a name; `nil` when the name does not end in them.
    private static func unmarked(_ leaf: String, _ key: CacheKey) -> String? {
        let end = ("~" + key.hashedName).utf8
        // Compares bytes, because Swift may combine the `~` and the sign before it into one character.
        guard leaf.utf8.suffix(end.count).elementsEqual(end) else { return nil }
        return String(Substring(leaf.utf8.dropLast(end.count)))
    }

    /// Returns `name` with `~`, the key and `end` behind it, cut so that all fit.
    private static func name(_ name: String, markedWith key: CacheKey, end: String = "") -> String {
        let suffix = "~" + key.hashedName + end
        return cut(name, to: maximumNameLength - suffix.utf8.count) + suffix
    }

    private static func hostName(_ parts: URLParts, isPlain: inout Bool) -> String {
        guard let port = parts.port else {
            // `a_80` without a port looks like `a` with port 80.
            let digits = parts.host.utf8.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }
            if !digits.isEmpty, parts.host.utf8.dropLast(digits.count).last == UInt8(ascii: "_") { isPlain = false }
            return parts.host
        }
        return "\(parts.host)_\(port)"
    }

    private static func directoryName(_ segment: String, isPlain: inout Bool) -> String {
        if segment == "@empty" { isPlain = false }
        var name = safeName(segment.utf8, isPlain: &isPlain)
        if name.utf8.count > maximumNameLength {
            name = cut(name, to: maximumNameLength)
            isPlain = false
        }
        while let tilde = markIndex(in: name) {
            name.replaceSubrange(tilde...tilde, with: "%7E")
            name = cut(name, to: maximumNameLength)
            isPlain = false
        }
        return name
    }

    private static func leafName(_ parts: URLParts, isPlain: inout Bool) -> String {
        let last = parts.segments.last ?? ""
        if last == "@index" { isPlain = false }
        var leaf = last.isEmpty ? "@index" : safeName(last.utf8, isPlain: &isPlain)
        if let query = parts.query {
            if query.utf8.contains("%2f".utf8) { isPlain = false }
            let pieces = query.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            leaf += "?" + pieces.map { escaped($0, isPlain: &isPlain) }.joined(separator: "%2f")
        }
        return leaf
    }

    private static let reservedNames = ["": "@empty", ".": "%2E", "..": "%2E%2E"]

    private static func safeName(_ bytes: some Collection<UInt8>, isPlain: inout Bool) -> String {
        let name = escaped(bytes, isPlain: &isPlain)
        guard let safe = reservedNames[name] else { return name }
        isPlain = false
        return safe
    }

    /// Escapes `/`, NUL and the other control characters. A canonical URL contains none of them.
    private static func escaped(_ bytes: some Collection<UInt8>, isPlain: inout Bool) -> String {
        func isAllowed(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "/") }
        if !bytes.allSatisfy(isAllowed) { isPlain = false }
        return PercentEscape.text(of: bytes, plain: isAllowed)
    }

    /// The last `~`, when the text behind it looks like a key.
    private static func markIndex(in name: String) -> String.Index? {
        guard let tilde = name.utf8.lastIndex(of: UInt8(ascii: "~")) else { return nil }
        let key = CacheKey(String(name[name.utf8.index(after: tilde)...]))
        return key == nil || key?.form == .data ? nil : tilde
    }

    /// Never cuts inside a UTF-8 sequence or a percent-escape.
    private static func cut(_ name: String, to limit: Int) -> String {
        let bytes = Array(name.utf8)
        guard bytes.count > limit else { return name }
        var end = limit
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        if let percent = bytes[..<end].suffix(2).lastIndex(of: UInt8(ascii: "%")) { end = percent }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}

/// The paths that a body may get, in the order in which they are tried.
struct PathCandidates: RandomAccessCollection {
    private let key: CacheKey
    private let first: [String]
    private let stem: String
    let startIndex = 0
    /// Never reached, because bodies compete for a path only if their keys or URLs have the same MD5.
    let endIndex = 1000

    /// The candidates: the layout's path; in the readable layout also that path with `~KEY`; then the last with `~1`, …
    init(layout: Layout, key: CacheKey, url: String?) {
        self.key = key
        let path = layout.path(for: key, url: url)
        stem = layout == .readable ? ReadablePath.alternative(for: path, key: key) : path
        first = stem == path ? [path] : [path, stem]
    }

    /// The candidates for a body that must leave `path`, because another body needs a directory there.
    init(besides path: String, key: CacheKey) {
        self.key = key
        let alternative = ReadablePath.alternative(for: path, key: key)
        stem = alternative == path ? ReadablePath.numbered(path, 1, key: key) : alternative
        first = [stem]
    }

    subscript(number: Int) -> String {
        number < first.count ? first[number] : ReadablePath.numbered(stem, number - first.count + 1, key: key)
    }
}

extension Layout {
    /// The relative path of a body, unless another body has it. `url` is canonical; `nil` for a caller's own key.
    package func path(for key: CacheKey, url: String?) -> String {
        let name = key.hashedName
        return switch self {
        // Several URLs may share a resource, so its path has no URL in either layout.
        case _ where key.form == .resource, .hashed: "\(name.prefix(2))/\(name.dropFirst(2).prefix(2))/\(name)"
        case .readable: url.map { ReadablePath.path(forURL: $0, key: key) } ?? ReadablePath.path(forData: key)
        }
    }
}
