import Primitives

/// The CDXJ index of a WARC file in a WACZ file: a line for each response, sorted by key.
package enum ArchiveIndex {
    /// `file`: the name of the WARC file.
    package static func text(_ places: [ArchiveWriter.Place], file: String) -> [UInt8] {
        let lines = places.map { place -> String in
            let response = place.response
            let media = response.fields.first { $0.name.lowercased() == "content-type" }?.value
            let ownType = media.map { String($0.prefix { $0 != ";" }).filter { $0 != " " } }
            // Readers look a revisit record's body up in the record with the same digest.
            let type = place.isRevisit ? "warc/revisit" : ownType ?? "application/octet-stream"
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

    /// The key by which readers sort and find URLs (SURT): `com,example)/path?query`, in lower case. Readers find a URL
    /// in spite of its escapes, a `www`, the order of its parameters, and slashes without an effect.
    package static func key(of url: String) -> String {
        guard let parsed = WebURL(url) else { return url.lowercased() }
        let authority = parsed.origin.dropFirst(parsed.scheme.count + 3).lowercased()
        let rest = parsed.text.dropFirst(parsed.origin.count)
        let mark = rest.firstIndex(of: "?")
        let path = Self.path(String(rest[..<(mark ?? rest.endIndex)]))
        let query = mark.map { Self.query(String(rest[rest.index(after: $0)...])) } ?? ""
        return Self.host(authority) + ")" + path + (query.isEmpty ? "" : "?" + query)
    }

    private static func host(_ authority: String) -> String {
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":")
        let host = authority[..<(end ?? authority.endIndex)].drop { $0 == "[" }
        let port = authority[(end ?? authority.endIndex)...].drop { $0 == "]" }
        var labels = host.split(separator: ".")
        if labels.count > 1, let first = labels.first, first.hasPrefix("www"), first.dropFirst(3).allSatisfy(\.isNumber)
        {
            labels.removeFirst()
        }
        return labels.reversed().joined(separator: ",") + port
    }

    private static func path(_ path: String) -> String {
        let parts = normal(path).split(separator: "/")
        return "/" + parts.joined(separator: "/")
    }

    private static func query(_ query: String) -> String {
        normal(query).split(separator: "&").sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: "&")
    }

    /// Decodes all escapes, also those of escapes, and escapes the necessary bytes again.
    private static func normal(_ text: String) -> String {
        var bytes = Array(text.utf8)
        while let decoded = PercentEscape.decode(bytes), decoded != bytes { bytes = decoded }
        let plain: (UInt8) -> Bool = { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "%")
        }
        return PercentEscape.text(of: bytes, plain: plain).lowercased()
    }

    /// `2026-11-27T08:00:00.250Z` as `20261127080000`.
    private static func timestamp(_ date: String) -> String {
        String(date.prefix(19).filter { $0.isASCII && $0.isNumber })
    }
}
