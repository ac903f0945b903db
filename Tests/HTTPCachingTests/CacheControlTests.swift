import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Cache-Control")
struct CacheControlTests {
    @Test(
        "Directives are parsed by the grammar of RFC 9111 §5.2",
        arguments: [
            ("", []),
            (" , ,\t,", []),
            ("no-store", [("no-store", .none)]),
            ("No-Store,PUBLIC", [("no-store", .none), ("public", .none)]),
            ("max-age=60", [("max-age", .value("60"))]),
            ("MAX-AGE=60 ,  x", [("max-age", .value("60")), ("x", .none)]),
            // RFC 9111 §5.2: "recipients ought to accept both forms". The forms are token and quoted string.
            ("max-age=\"60\"", [("max-age", .value("60"))]),
            ("private=\"set-cookie, x\", max-age=1", [("private", .value("set-cookie, x")), ("max-age", .value("1"))]),
            // RFC 9110 §5.6.4: a backslash quotes the next byte.
            (#"a="x\"y, no-store", b"#, [("a", .value("x\"y, no-store")), ("b", .none)]),
            (#"a="\\", b"#, [("a", .value(#"\"#)), ("b", .none)]),
            ("a=\"\"", [("a", .value(""))]),
            ("unknown=;, max-age=5", [("unknown", .malformed), ("max-age", .value("5"))]),
            ("max-age=", [("max-age", .malformed)]),
            ("max-age =60", [("max-age", .malformed)]),
            ("max-age= 60", [("max-age", .malformed)]),
            ("max-age=60 seconds", [("max-age", .malformed)]),
            ("max-age=\"60\"x", [("max-age", .malformed)]),
            ("max-age:60", [("max-age", .malformed)]),
            // RFC 9110 §5.6.2: the single quote is an ordinary character of a token.
            ("max-age='60'", [("max-age", .value("'60'"))]),
            ("=60, no-cache", [("no-cache", .none)]),
            ("\"no-store\", no-cache", [("no-cache", .none)]),
            // An unclosed quoted string does not hide the directives behind it.
            ("a=\"x, no-store", [("a", .malformed), ("no-store", .none)]),
            ("a=\"x\\\", no-store", [("a", .malformed), ("no-store", .none)]),
        ] as [(String, [(String, CacheControl.Argument)])])
    func grammar(line: String, expected: [(String, CacheControl.Argument)]) {
        let directives = expected.map { CacheControl.Directive(name: $0.0, argument: $0.1) }
        #expect(CacheControl(line).directives == directives)
    }

    @Test("All Cache-Control lines form one list, but an unclosed quoted string ends at the end of its line")
    func lines() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cacheControl, value: "a=\"x, max-age=60"))
        fields.append(HTTPField(name: .date, value: "no-cache"))
        fields.append(HTTPField(name: .cacheControl, value: "y\", no-store"))
        let control = CacheControl(fields)
        #expect(control.maxAge == .valid(.seconds(60)))
        #expect(control.noStore)
        #expect(!control.noCache)
    }

    @Test("A message without Cache-Control has no directives")
    func absent() {
        let control = CacheControl(HTTPFields())
        #expect(control.directives.isEmpty)
        #expect(control.maxAge == nil)
        #expect(control.sharedMaxAge == nil)
        #expect(!control.noStore && !control.noCache)
    }

    @Test(
        "Delta-seconds accept only digits and saturate at 2^31 (RFC 9111 §1.2.2)",
        arguments: [
            ("0", .seconds(0)), ("1", .seconds(1)), ("003600", .seconds(3600)),
            ("00000000000000000000007", .seconds(7)),
            ("2147483647", .seconds(2_147_483_647)), ("2147483648", .seconds(2_147_483_648)),
            ("2147483649", .seconds(2_147_483_648)), ("9999999999", .seconds(2_147_483_648)),
            ("10000000000", .seconds(2_147_483_648)), ("9223372036854775808", .seconds(2_147_483_648)),
            (String(repeating: "9", count: 400), .seconds(2_147_483_648)), (String(repeating: "0", count: 400), .zero),
            ("", nil), ("-1", nil), ("+1", nil), ("1.0", nil), ("1.5", nil), ("'3600'", nil), ("3600s", nil),
            (" 1", nil),
            ("1e3", nil), ("0x10", nil), ("١", nil), ("infinity", nil),
        ] as [(String, Duration?)])
    func deltaSeconds(text: String, expected: Duration?) {
        #expect(DeltaSeconds.parse(text) == expected)
    }

    @Test("If a directive is repeated, its first value counts, even if that value is invalid (RFC 9111 §4.2.1)")
    func repeated() {
        #expect(CacheControl("max-age=1, max-age=60").maxAge == .valid(.seconds(1)))
        #expect(CacheControl("max-age=60, max-age=1").maxAge == .valid(.seconds(60)))
        #expect(CacheControl("max-age=x, max-age=60").maxAge == .invalid)
        #expect(CacheControl("max-age, max-age=60").maxAge == .invalid)
    }

    @Test("The name of a directive must match as a whole: max-age-x is not max-age")
    func similarNames() {
        let control = CacheControl("max-age-x=60, xmax-age=60, no-storex, no-cach")
        #expect(control.maxAge == nil)
        #expect(!control.noStore && !control.noCache)
    }

    @Test("A no-cache with field names counts as no-cache (RFC 9111 §5.2.2.4)")
    func qualifiedNoCache() {
        #expect(CacheControl("no-cache=\"set-cookie\"").noCache)
        #expect(CacheControl("no-cache=\"").noCache)
    }
}
