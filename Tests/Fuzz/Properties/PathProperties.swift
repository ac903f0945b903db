import Primitives

@testable import DiskCache

/// Each line is both a URL in any spelling and a caller's key.
enum PathProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        var owners: [ExactText: CacheKey] = [:]
        for line in bytes.lines.prefix(8) {
            let text = line.text
            var bodies: [(key: CacheKey, url: String?)] = []
            // Even a text that is not a canonical URL has a path, because an older Larder may have stored it as a URL.
            bodies.append((CacheKey.url(canonical: text), text))
            if let url = try? CanonicalURL(text).string {
                bodies.append((CacheKey.url(canonical: url), url))
                bodies.append((CacheKey.response(to: ResponseURL(url), variant: "x"), url))
            }
            if let key = try? CacheKey.data(text) { bodies.append((key, nil)) }
            for (key, url) in bodies {
                let path = try check(key, url)
                try demand(owners[ExactText(path), default: key] == key, "two keys never get one path", path)
                owners[ExactText(path)] = key
            }
        }
    }

    /// Checks all paths of a body, and returns its path in the readable layout.
    private static func check(_ key: CacheKey, _ url: String?) throws(Violation) -> String {
        let path = Layout.readable.path(for: key, url: url)
        try checkInside(path)
        let kind = url == nil ? "QDataCaches/" : "QUrlCaches/"
        try demand(path.utf8.starts(with: kind.utf8), "a path is in the directory of its kind", path)
        let alternative = ReadablePath.alternative(for: path, key: key)
        try checkInside(alternative)
        try demand(
            ReadablePath.alternative(for: alternative, key: key).isExactly(alternative),
            "the alternative path has no other alternative", alternative)
        try checkInside(Layout.hashed.path(for: key, url: url))
        for layout in Layout.allCases {
            for candidate in PathCandidates(layout: layout, key: key, url: url).prefix(4) { try checkInside(candidate) }
        }
        for candidate in PathCandidates(besides: path, key: key).prefix(3) { try checkInside(candidate) }

        let mark = "~" + key.hashedName
        if path.endsExactly(in: mark) {
            try demand(alternative.isExactly(path), "a path that ends in its key gets no second key", alternative)
            return path
        }
        try demand(!endsInMark(path), "a path ends in no key but its own", path)
        let directories = path.utf8.split(separator: UInt8(ascii: "/")).dropLast()
        try demand(
            !directories.contains { endsInMark(String(Substring($0))) }, "no directory name ends in a key", path)
        // If a path does not end in `~KEY`, the test can compute the URL or the caller's key from the path alone. So
        // two URLs or two keys never have the same path without `~KEY`.
        if let url {
            try demand(Self.url(plain: path).isExactly(url), "a path without a key gives the URL", "\(url) \(path)")
        } else {
            try demand(path.isExactly("QDataCaches/" + key.text), "a path of data gives the key", path)
        }
        return path
    }

    /// Each component is a valid file name, and no component leads out of the directory.
    private static func checkInside(_ path: String) throws(Violation) {
        try demand(path.utf8.count <= ReadablePath.maximumLength, "a path is not too long", path)
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        try demand(
            (2...ReadablePath.maximumDepth).contains(components.count), "the depth of a path is within its limits", path
        )
        for component in components {
            try demand((1...255).contains(component.count), "a component has 1 to 255 bytes", path)
            try demand(!component.contains { $0 < 0x20 || $0 == 0x7F }, "a component has no control character", path)
            try demand(
                !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8),
                "a component is not a dot segment", path)
        }
    }

    /// Whether `name` ends in `~` and the key of a URL or of a response.
    private static func endsInMark(_ name: String) -> Bool {
        guard let tilde = name.utf8.lastIndex(of: UInt8(ascii: "~")) else { return false }
        let form = CacheKey(String(Substring(name.utf8[tilde...].dropFirst())))?.form
        return form == .url || form == .response
    }

    /// Computes the URL from a path in the readable layout without a suffix `~KEY`. See ``ReadablePath``.
    private static func url(plain path: String) -> String {
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard components.count >= 4 else { return "" }
        var host = components[2]
        let digits = host.utf8.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
        let name = host.utf8.dropLast(digits)
        if digits > 0, name.last == UInt8(ascii: "_") {
            host = "\(Substring(name.dropLast())):\(Substring(host.utf8.suffix(digits)))"
        }
        let parts = components.last!.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        let leaf = parts[0] == "@index" ? "" : parts[0]
        let query = parts.count > 1 ? "?" + slashes(in: parts[1]) : ""
        let directories = components[3..<(components.count - 1)].map { $0 + "/" }.joined()
        return "\(components[1])://\(host)/\(directories)\(leaf)\(query)"
    }

    /// `query` with each `%2f` replaced by `/`.
    private static func slashes(in query: String) -> String {
        var output: [UInt8] = []
        var rest = Array(query.utf8)[...]
        while let byte = rest.first {
            if rest.starts(with: "%2f".utf8) {
                output.append(UInt8(ascii: "/"))
                rest = rest.dropFirst(3)
            } else {
                output.append(byte)
                rest = rest.dropFirst()
            }
        }
        return output.text
    }
}
