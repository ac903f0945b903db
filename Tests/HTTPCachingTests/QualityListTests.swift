import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Quality lists")
struct QualityListTests {
    @Test(
        "A quality list is parsed into members and their weights (RFC 9110 §12.4.2)",
        arguments: [
            ([], []),
            ([""], []),
            ([" , ,\t"], []),
            (["gzip"], [("gzip", 1000)]),
            (["gzip, br"], [("gzip", 1000), ("br", 1000)]),
            (["gzip", "br;q=0.5"], [("gzip", 1000), ("br", 500)]),
            ([",gzip,,br,"], [("gzip", 1000), ("br", 1000)]),
            // RFC 9110 §12.5.3: `*` is a member like any other.
            (["gzip;q=0.5, *;q=0"], [("gzip", 500), ("*", 0)]),
            // White space around the semicolon and the letter case of `q` do not matter.
            (["gzip \t; \tQ=0.5\t, br"], [("gzip", 500), ("br", 1000)]),
            // RFC 9110 §12.4.2: a weight has up to three decimals.
            (["a;q=0, b;q=0., c;q=0.0, d;q=0.000"], [("a", 0), ("b", 0), ("c", 0), ("d", 0)]),
            (["a;q=1, b;q=1., c;q=1.0, d;q=1.000"], [("a", 1000), ("b", 1000), ("c", 1000), ("d", 1000)]),
            (["a;q=0.1, b;q=0.12, c;q=0.123, d;q=0.001"], [("a", 100), ("b", 120), ("c", 123), ("d", 1)]),
            // RFC 9110 §8.4.1, §12.5.4: names ignore letter case.
            (["GZip, en-GB"], [("gzip", 1000), ("en-gb", 1000)]),
            // RFC 9110 §12.5.1: the values of a media range's parameters keep their letter case.
            (["Text/HTML;Level=A;q=0.5"], [("text/html;level=A", 500)]),
            (["text/*;a=\"b\", */*;q=0.1"], [("text/*;a=b", 1000), ("*/*", 100)]),
            (["a/b;c=\"d,e\";q=0.5"], [("a/b;c=\"d,e\"", 500)]),
            (["a/b;;c=d;"], [("a/b;c=d", 1000)]),
        ] as [([String], [(String, Int)])])
    func members(lines: [String], expected: [(String, Int)]) throws {
        let list = try #require(QualityList(lines))
        #expect(list.members == expected.map { QualityList.Member(value: $0.0, quality: $0.1) })
    }

    @Test(
        "A quality list that breaks the grammar is not parsed",
        arguments: [
            "gzip br", "gzip;q", "gzip;q=", "gzip;q=2", "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=-1", "gzip;q=.5",
            "gzip;q=\"0.5\"", "gzip;q=0,5;q=x", "gzip;q=0.5;q=0.6", "gzip; q =0.5", "gzip;q= 0.5", ";q=1", "=", "a/",
            "a/b/c", "é", "a;b=\"c",
        ])
    func malformed(line: String) {
        #expect(QualityList([line]) == nil)
    }

    @Test(
        "Field values with the same meaning have the same normal form (RFC 9111 §4.1)",
        arguments: [
            // Any field: lines are joined, and white space around commas is ignored.
            (.foo, ["1, 2"], ["1,2"]),
            (.foo, ["1, 2"], [" 1 \t,\t 2 "]),
            (.foo, ["1, 2"], ["1", "2"]),
            (.foo, ["\"a,b\" , c"], ["\"a,b\",c"]),
            // RFC 9110 §12.5.3: codings have no letter case and no order, and a weight has several spellings.
            (.acceptEncoding, ["gzip, br"], ["br,gzip"]),
            (.acceptEncoding, ["gzip, br"], ["GZIP;q=1.0", "br;q=1"]),
            (.acceptEncoding, ["gzip;q=0.5, br"], ["br, gzip;q=0.500"]),
            (.acceptEncoding, ["gzip, gzip"], ["gzip"]),
            (.acceptEncoding, ["", "gzip"], ["gzip,"]),
            (.acceptEncoding, [""], [" , "]),
            // RFC 9110 §8.4.1.1, §8.4.1.3: x-compress and x-gzip mean compress and gzip.
            (.acceptEncoding, ["x-gzip, x-compress;q=0.1"], ["compress;q=0.1, gzip"]),
            // RFC 9110 §12.5.4: language ranges have no letter case, and their order is not reliable.
            (.acceptLanguage, ["en, de"], ["de, en"]),
            (.acceptLanguage, ["en-GB,en;q=0.9"], ["en;q=0.90, EN-gb"]),
            // RFC 9110 §12.5.1, §12.5.2: media types and charsets ignore letter case.
            (.accept, ["text/html, */*;q=0.1"], ["*/*;q=0.1,TEXT/html"]),
            (.accept, ["text/html;charset=utf-8"], ["text/html; Charset=\"utf-8\""]),
            (.acceptCharset, ["UTF-8, iso-8859-1;q=0"], ["iso-8859-1;q=0.0,utf-8"]),
            // RFC 9113 §8.2.3: several Cookie lines are joined with semicolons.
            (.cookie, ["a=1; b=2"], ["a=1", "b=2"]),
        ] as [(HTTPField.Name, [String], [String])])
    func same(name: HTTPField.Name, one: [String], other: [String]) {
        #expect(QualityList.normalised(name: name, lines: one) == QualityList.normalised(name: name, lines: other))
    }

    @Test(
        "Field values with different meanings have different normal forms (RFC 9111 §4.1)",
        arguments: [
            (.foo, ["1"], ["2"]),
            (.foo, ["a"], ["A"]),
            (.foo, ["1, 2"], ["2, 1"]),
            (.foo, ["1 2"], ["1  2"]),
            (.foo, ["1,,2"], ["1,2"]),
            (.foo, ["\"a,b\""], ["\"a, b\""]),
            (.foo, ["\"a\\\",b\""], ["\"a\\\", b\""]),
            (.foo, ["a, a"], ["a"]),
            (.userAgent, ["x (y; z)"], ["x (y;z)"]),
            (.acceptEncoding, ["gzip"], ["br"]),
            (.acceptEncoding, ["gzip"], ["gzip, br"]),
            (.acceptEncoding, ["gzip"], ["gzip;q=0"]),
            (.acceptEncoding, ["gzip"], ["gzip;q=0.999"]),
            (.acceptEncoding, ["gzip, br;q=0.5"], ["gzip;q=0.5, br"]),
            (.acceptEncoding, ["gzip"], [""]),
            // A value that is not a list of codings is not sorted, and none of its parts is dropped.
            (.acceptEncoding, ["gzip br, x"], ["x, gzip br"]),
            (.acceptEncoding, ["gzip;q=5"], ["gzip"]),

            (.acceptLanguage, ["en"], ["en-GB"]),
            (.acceptLanguage, ["x-gzip"], ["gzip"]),
            (.accept, ["text/html;a=B"], ["text/html;a=b"]),
            (.accept, ["text/html;a=\"b;c=d\""], ["text/html;a=b;c=d"]),
            (.cookie, ["a=1,2"], ["a=1, 2"]),
        ] as [(HTTPField.Name, [String], [String])])
    func different(name: HTTPField.Name, one: [String], other: [String]) {
        #expect(QualityList.normalised(name: name, lines: one) != QualityList.normalised(name: name, lines: other))
    }

    @Test("A combining accent behind a quoted backslash does not change the backslash")
    func accentBehindBackslash() throws {
        let list = try #require(QualityList(["a;b=\"\\\\\u{301}\""]))
        let again = try #require(QualityList(list.members.map(\.text)))
        #expect(again.members.map { Array($0.value.utf8) } == list.members.map { Array($0.value.utf8) })
    }

    @Test("An unclosed quoted string is read in a time that grows linearly with its length", .timeLimit(.minutes(1)))
    func openQuotes() {
        let line = "\"" + String(repeating: "\\\"", count: 500_000)
        #expect(QualityList.normalised(name: .foo, lines: [line]) == line)
        // The text behind a closed quoted string is still normalised.
        #expect(QualityList.normalised(name: .foo, lines: ["\"a,b\" , \"c ,d"]) == "\"a,b\", \"c, d")
    }

    @Test("A second normalisation of a field value does not change the normal form")
    func form() {
        func form(_ name: HTTPField.Name, _ lines: String...) -> String {
            QualityList.normalised(name: name, lines: lines)
        }
        #expect(
            form(.acceptEncoding, "br;q=0.50, identity;q=0, GZIP, x;q=0.05") == "gzip, br;q=0.5, x;q=0.05, identity;q=0"
        )
        #expect(form(.acceptEncoding) == "")
        #expect(form(.foo, " b ,a", "c\t") == "b, a, c")
        // A normal form is its own normal form.
        #expect(form(.acceptLanguage, form(.acceptLanguage, "de;q=0.5,en")) == "en, de;q=0.5")
    }
}

extension HTTPField.Name {
    fileprivate static let acceptCharset = Self("Accept-Charset")!
    fileprivate static let foo = Self("Foo")!
}
