import Testing

/// Cache-Control for Larder, or for caches like it, alone (RFC 9213).
extension ExchangeTable {
    private static let forbidden = "Cache-Control: no-store"

    private static func cdn(_ text: String) -> String { "CDN-Cache-Control: " + text }
    private static func larder(_ text: String) -> String { "Larder-Cache-Control: " + text }

    static let targeted: [Exchange] = [
        row(
            "9213 §2.2: CDN-Cache-Control before Cache-Control: no-store", ok(cdn("max-age=3600"), forbidden),
            after: 60, is: .hit),
        row(
            "9213 §2.2: CDN-Cache-Control before a longer Cache-Control", ok(cdn("max-age=60"), hour), after: 60,
            is: .forwarded),
        row("9213 §2.2: no-store for CDNs alone", ok(cdn("no-store"), hour), is: .forwarded),
        row("9213 §2.2: private for CDNs alone", ok(cdn("private, max-age=60"), hour), is: .forwarded),
        row("9213 §2.2: no-cache for CDNs alone", ok(cdn("no-cache"), hour, v1), now: notModified(), is: .revalidated),
        row(
            "9213 §2.2: Larder-Cache-Control before CDN-Cache-Control", ok(larder("max-age=3600"), cdn("no-store")),
            after: 60, is: .hit),
        row(
            "9213 §2.2: Larder-Cache-Control before both", ok(larder("max-age=60"), cdn("max-age=3600"), hour),
            after: 60, is: .forwarded),
        row("9213 §2.2: Larder-Cache-Control alone", ok(larder("max-age=3600")), after: 60, is: .hit),
        row(
            "9213 §2.2: Expires does not count beside it", ok(cdn("max-age=60"), "Expires: \(at(3600))"), after: 60,
            is: .forwarded),
        row(
            "9213 §2.2: nor where nothing is said about freshness", ok(cdn("must-revalidate"), "Expires: \(at(3600))"),
            is: .forwarded),
        row("9213 §2.2: nor does max-age of Cache-Control", ok(cdn("must-revalidate"), hour), is: .forwarded),
        row("9213 §2.1: what is no dictionary is ignored", ok(cdn("max-age: 1"), hour), after: 60, is: .hit),
        row("9213 §2.1: what is empty is ignored", ok(cdn(""), hour), after: 60, is: .hit),
        row(
            "9213 §2.1: what cannot be read falls to the next", ok(larder("&"), cdn("max-age=3600"), forbidden),
            after: 60, is: .hit),
        row("8941 §3.2: keys are in lower case", ok(cdn("Max-Age=1"), hour), after: 60, is: .hit),
        row("9213 §2.1: parameters are ignored", ok(cdn("max-age=3600;a=b"), forbidden), after: 60, is: .hit),
        row("8941 §3.2: of a repeated key the last", ok(cdn("max-age=1, max-age=3600")), after: 60, is: .hit),
        row(
            "8941 §4.2: several lines are one dictionary", ok(cdn("public"), cdn("max-age=3600"), forbidden), after: 60,
            is: .hit),
        row("9111 §4.2.1: s-maxage before max-age here too", ok(cdn("max-age=1, s-maxage=3600")), after: 60, is: .hit),
        row("9213 §2.1: a string is no number", ok(cdn("max-age=\"3600\"")), is: .forwarded),
        row("9213 §2.1: a decimal is no number", ok(cdn("max-age=3600.5")), is: .forwarded),
        row("9213 §2.1: a negative max-age is stale", ok(cdn("max-age=-1"), hour), is: .forwarded),
        row("8941 §3.3.6: ?0 says that it is not so", ok(cdn("private=?0, max-age=3600")), after: 60, is: .hit),
        row(
            "9213 §2.2: it is passed on", ok(cdn("max-age=3600"), larder("max-age=60")), is: .hit,
            .field("CDN-Cache-Control", ["max-age=3600"]), .lacks("Larder-Cache-Control")),
        row(
            "5861 §3: stale-while-revalidate for CDNs", ok(cdn("max-age=60, stale-while-revalidate=60")), after: 61,
            is: .staleWhileRevalidated),
    ]
}
