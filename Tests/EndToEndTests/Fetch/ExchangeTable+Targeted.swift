import Testing

/// Cache-Control for Larder alone, or for CDNs and similar caches alone (RFC 9213).
extension ExchangeTable {
    private static let forbidden = "Cache-Control: no-store"

    private static func cdn(_ text: String) -> String { "CDN-Cache-Control: " + text }
    private static func larder(_ text: String) -> String { "Larder-Cache-Control: " + text }

    static let targeted: [Exchange] = [
        row(
            "9213 §2.2: CDN-Cache-Control overrides Cache-Control: no-store", ok(cdn("max-age=3600"), forbidden),
            after: 60, is: .hit),
        row(
            "9213 §2.2: CDN-Cache-Control overrides a longer Cache-Control", ok(cdn("max-age=60"), hour), after: 60,
            is: .forwarded),
        row("9213 §2.2: no-store in CDN-Cache-Control forbids storing", ok(cdn("no-store"), hour), is: .forwarded),
        row(
            "9213 §2.2: private in CDN-Cache-Control forbids storing", ok(cdn("private, max-age=60"), hour),
            is: .forwarded),
        row(
            "9213 §2.2: no-cache in CDN-Cache-Control causes a validation", ok(cdn("no-cache"), hour, v1),
            now: notModified(), is: .revalidated),
        row(
            "9213 §2.2: Larder-Cache-Control overrides CDN-Cache-Control", ok(larder("max-age=3600"), cdn("no-store")),
            after: 60, is: .hit),
        row(
            "9213 §2.2: Larder-Cache-Control overrides CDN-Cache-Control and Cache-Control",
            ok(larder("max-age=60"), cdn("max-age=3600"), hour),
            after: 60, is: .forwarded),
        row("9213 §2.2: Larder-Cache-Control alone gives a lifetime", ok(larder("max-age=3600")), after: 60, is: .hit),
        row(
            "9213 §2.2: Expires is ignored beside CDN-Cache-Control", ok(cdn("max-age=60"), "Expires: \(at(3600))"),
            after: 60,
            is: .forwarded),
        row(
            "9213 §2.2: Expires is ignored beside CDN-Cache-Control without a lifetime",
            ok(cdn("must-revalidate"), "Expires: \(at(3600))"),
            is: .forwarded),
        row(
            "9213 §2.2: max-age of Cache-Control is ignored beside CDN-Cache-Control", ok(cdn("must-revalidate"), hour),
            is: .forwarded),
        row(
            "9213 §2.1: a targeted field that is not a dictionary is ignored", ok(cdn("max-age: 1"), hour), after: 60,
            is: .hit),
        row("9213 §2.1: an empty targeted field is ignored", ok(cdn(""), hour), after: 60, is: .hit),
        row(
            "9213 §2.1: an invalid Larder-Cache-Control falls back to CDN-Cache-Control",
            ok(larder("&"), cdn("max-age=3600"), forbidden),
            after: 60, is: .hit),
        row(
            "8941 §3.2: a key in upper case makes a targeted field invalid", ok(cdn("Max-Age=1"), hour), after: 60,
            is: .hit),
        row("9213 §2.1: parameters are ignored", ok(cdn("max-age=3600;a=b"), forbidden), after: 60, is: .hit),
        row("8941 §3.2: the last of a repeated key counts", ok(cdn("max-age=1, max-age=3600")), after: 60, is: .hit),
        row(
            "8941 §4.2: several lines form one dictionary", ok(cdn("public"), cdn("max-age=3600"), forbidden),
            after: 60,
            is: .hit),
        row(
            "9111 §4.2.1: s-maxage overrides max-age in a targeted field", ok(cdn("max-age=1, s-maxage=3600")),
            after: 60, is: .hit),
        row("9213 §2.1: a max-age that is a string is invalid", ok(cdn("max-age=\"3600\"")), is: .forwarded),
        row("9213 §2.1: a max-age that is a decimal is invalid", ok(cdn("max-age=3600.5")), is: .forwarded),
        row("9213 §2.1: a negative max-age makes the answer stale", ok(cdn("max-age=-1"), hour), is: .forwarded),
        row(
            "8941 §3.3.6: a directive with ?0 does not apply", ok(cdn("private=?0, max-age=3600")),
            after: 60, is: .hit),
        row(
            "9213 §2.2: CDN-Cache-Control is passed on, Larder-Cache-Control is not",
            ok(cdn("max-age=3600"), larder("max-age=60")), is: .hit,
            .field("CDN-Cache-Control", ["max-age=3600"]), .lacks("Larder-Cache-Control")),
        row(
            "5861 §3: stale-while-revalidate in CDN-Cache-Control holds",
            ok(cdn("max-age=60, stale-while-revalidate=60")), after: 61,
            is: .staleWhileRevalidated),
    ]
}
