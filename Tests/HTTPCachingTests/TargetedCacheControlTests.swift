import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Targeted Cache-Control")
struct TargetedCacheControlTests {
    @Test(
        "The first readable targeted field overrides Cache-Control (RFC 9213 §2.2)",
        arguments: [
            // Without a targeted field, Cache-Control and Expires apply.
            ([(.cacheControl, "max-age=1")], "max-age=1", false),
            ([], "", false),
            // The first field of the target list that has a value applies, in any order of the lines.
            ([(.cdnCacheControl, "max-age=2"), (.cacheControl, "max-age=1")], "max-age=2", true),
            ([(.cacheControl, "no-store"), (.cdnCacheControl, "max-age=2")], "max-age=2", true),
            ([(.cacheControl, "max-age=1"), (.cdnCacheControl, "no-store")], "no-store", true),
            ([(.cdnCacheControl, "max-age=2"), (.larderCacheControl, "max-age=3")], "max-age=3", true),
            ([(.larderCacheControl, "max-age=3"), (.cdnCacheControl, "max-age=2")], "max-age=3", true),
            // RFC 9213 §3.1: a field with only an unknown directive applies as well.
            ([(.cacheControl, "no-store"), (.cdnCacheControl, "none")], "none", true),
            // RFC 9213 §2.1: an empty or unreadable field is ignored.
            ([(.cdnCacheControl, ""), (.cacheControl, "max-age=1")], "max-age=1", false),
            ([(.cdnCacheControl, "max-age=2, &&&&&"), (.cacheControl, "no-store")], "no-store", false),
            ([(.larderCacheControl, "Max-Age=3"), (.cdnCacheControl, "max-age=2")], "max-age=2", true),
            ([(.larderCacheControl, ""), (.cdnCacheControl, ""), (.cacheControl, "private")], "private", false),
            // A field for other caches has no effect.
            ([(.otherCacheControl, "max-age=9"), (.cacheControl, "max-age=1")], "max-age=1", false),
        ] as [([(HTTPField.Name, String)], String, Bool)])
    func selection(lines: [(HTTPField.Name, String)], control: String, isTargeted: Bool) {
        let effective = TargetedCacheControl.effective(fields(lines))
        #expect(effective.control == CacheControl(control))
        #expect(effective.isTargeted == isTargeted)
    }

    @Test(
        "The type of a structured value decides how the value becomes a directive (RFC 9213 §2.1)",
        arguments: [
            ("max-age=600", [("max-age", .value("600"))]),
            ("must-revalidate, max-age=600", [("must-revalidate", .none), ("max-age", .value("600"))]),
            ("max-age=600,no-store\t,\tpublic", [("max-age", .value("600")), ("no-store", .none), ("public", .none)]),
            ("no-store=?1", [("no-store", .none)]),
            ("no-cache=\"set-cookie, x\"", [("no-cache", .value("set-cookie, x"))]),
            ("private=\"a\\\"b\"", [("private", .value("a\"b"))]),
            ("x=token", [("x", .value("token"))]),
            // Parameters are ignored.
            ("max-age=600;x=1;y, no-cache;z", [("max-age", .value("600")), ("no-cache", .none)]),
            // RFC 8941 §3.2: the last value of a repeated key counts.
            ("max-age=1, max-age=2", [("max-age", .value("2"))]),
            // A value of another type than the directive needs is malformed, not converted.
            ("max-age=\"600\"", [("max-age", .malformed)]),
            ("max-age=600.0", [("max-age", .malformed)]),
            ("max-age=1.5", [("max-age", .malformed)]),
            ("max-age=-1", [("max-age", .malformed)]),
            ("max-age=(600)", [("max-age", .malformed)]),
            ("max-age=@600", [("max-age", .malformed)]),
            ("max-age=:NjAw:", [("max-age", .malformed)]),
            ("max-age", [("max-age", .none)]),
            // A directive that restricts applies with any value but false. A directive that permits applies only with
            // true.
            ("no-store=1", [("no-store", .value("1"))]),
            ("private=(a b)", [("private", .malformed)]),
            ("public=1, immutable=\"x\", must-understand=y", []),
            ("no-store=?0, public=?0", []),
        ] as [(String, [(String, CacheControl.Argument)])])
    func values(value: String, directives: [(String, CacheControl.Argument)]) throws {
        let control = try #require(TargetedCacheControl.parse([.cdnCacheControl: value], name: .cdnCacheControl))
        #expect(control.directives == directives.map { CacheControl.Directive(name: $0.0, argument: $0.1) })
    }

    @Test("In a targeted field, a max-age that is not an integer is invalid, not absent (RFC 9111 §4.2.1)")
    func seconds() {
        func maxAge(_ value: String) -> CacheControl.Seconds? {
            TargetedCacheControl.effective([.cdnCacheControl: value]).control.maxAge
        }
        #expect(maxAge("max-age=60") == .valid(.seconds(60)))
        #expect(maxAge("max-age=99999999999") == .valid(DeltaSeconds.maximum))
        #expect(maxAge("max-age=\"60\"") == .invalid)
        #expect(maxAge("max-age=60.0") == .invalid)
        #expect(maxAge("max-age") == .invalid)
        #expect(maxAge("s-maxage=60") == nil)
    }

    @Test(
        "A targeted field that is not a dictionary is ignored as a whole (RFC 9213 §2.1, RFC 8941 §4.2)",
        arguments: [
            "", ",", "max-age=60,", ",max-age=60", "max-age =60", "max-age= 60", "MaX-aGe=60", "max-age=60 no-store",
            "max-age=60, &&&&&", "max-age='60'", "no-cache=\"x", "max-age=9999999999999999", "60", "\"max-age\"=60",
            "max-age=60;", "max-age=60, private=\"é\"",
        ])
    func unreadable(value: String) {
        #expect(TargetedCacheControl.parse([.cdnCacheControl: value], name: .cdnCacheControl) == nil)
    }

    @Test("Several lines of a targeted field form one dictionary (RFC 8941 §4.2)")
    func severalLines() {
        let two = fields([(.cdnCacheControl, "max-age=60"), (.date, "x"), (.cdnCacheControl, "private")])
        #expect(TargetedCacheControl.effective(two).control == CacheControl("max-age=60, private"))
        let broken = fields([(.cdnCacheControl, "max-age=60"), (.cdnCacheControl, "?")])
        #expect(!TargetedCacheControl.effective(broken).isTargeted)
    }

    @Test("A targeted field of 1,024 members is read (RFC 8941 §3.2), and a larger field is ignored")
    func manyMembers() {
        func value(_ count: Int) -> String { (0..<count).map { "k\($0)" }.joined(separator: ",") }
        let most: HTTPFields = [.cdnCacheControl: value(1024)]
        #expect(TargetedCacheControl.effective(most).control.directives.count == 1024)
        #expect(!TargetedCacheControl.effective([.cdnCacheControl: value(1025)]).isTargeted)
        #expect(!TargetedCacheControl.effective([.cdnCacheControl: value(100_000)]).isTargeted)
        let parameters = "a" + String(repeating: ";b", count: 100_000)
        #expect(!TargetedCacheControl.effective([.cdnCacheControl: parameters]).isTargeted)
    }

    private func fields(_ lines: [(HTTPField.Name, String)]) -> HTTPFields {
        HTTPFields(lines.map { HTTPField(name: $0.0, value: $0.1) })
    }
}

extension HTTPField.Name {
    fileprivate static let otherCacheControl = Self("OtherCDN-Cache-Control")!
}
