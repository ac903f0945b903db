import Primitives

/// The CDXJ index of a WARC file in a WACZ file: a line for each response, sorted by key.
package enum ArchiveIndex {
    /// `file`: the name of the WARC file.
    package static func text(_ places: [ArchiveWriter.Place], file: String) -> [UInt8] {
        let lines = places.map { place -> String in
            let response = place.response
            let media = response.fields.first { $0.name.lowercased() == "content-type" }?.value
            let type = media.map { String($0.prefix { $0 != ";" }).filter { $0 != " " } } ?? "application/octet-stream"
            let json = JSON.object([
                .init("url", .string(response.url)), .init("mime", .string(type)),
                .init("status", .string("\(response.status)")),
                .init("digest", .string(WARCWriter.digest(sha256: response.digest))),
                .init("length", .string("\(place.length)")), .init("offset", .string("\(place.offset)")),
                .init("filename", .string(file)),
            ])
            return "\(key(of: response.url)) \(timestamp(response.date)) \(json.text)\n"
        }
        return Array(lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined().utf8)
    }

    /// The key by which readers sort and find URLs (SURT): `com,example)/path?query`, in lower case.
    package static func key(of url: String) -> String {
        guard let parsed = WebURL(url) else { return url.lowercased() }
        let authority = parsed.origin.dropFirst(parsed.scheme.count + 3)
        let rest = parsed.text.dropFirst(parsed.origin.count).lowercased()
        guard authority.first != "[" else { return "\(authority))\(rest)" }
        let parts = authority.split(separator: ":", maxSplits: 1)
        var labels = parts[0].split(separator: ".")
        // A host such as 192.0.2.1 stays as it is.
        let isAddress = labels.count == 4 && labels.allSatisfy { $0.utf8.allSatisfy { $0.isDigit } }
        if labels.first == "www", labels.count > 2 { labels.removeFirst() }
        let host = isAddress ? String(parts[0]) : labels.reversed().joined(separator: ",")
        return host + (parts.count > 1 ? ":\(parts[1])" : "") + ")" + rest
    }

    /// `2026-11-27T08:00:00.250Z` as `20261127080000`.
    private static func timestamp(_ date: String) -> String {
        String(date.prefix(19).filter { $0.isASCII && $0.isNumber })
    }
}
