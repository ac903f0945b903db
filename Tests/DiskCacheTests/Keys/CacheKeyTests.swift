import Testing

@testable import DiskCache

@Suite("The keys of the cache")
struct CacheKeyTests {
    @Test("The key of a URL is the MD5 that md5sum prints")
    func keyOfURL() {
        // printf %s http://example.com/ | md5sum
        let key = CacheKey.url(canonical: "http://example.com/")
        #expect(key.text == "a6bf1757fff057f266b697df9cf176fd")
        #expect(key.form == .url)
        #expect(key.md5Hex == key.text)
        #expect(key.hashedName == key.text)
    }

    @Test("The key of a URL with request fields hashes the URL and the fields, as sorted lines with lower-case names")
    func keyOfURLWithFields() {
        let key = CacheKey.url(
            canonical: "http://example.com/",
            requestFields: [("X-B", "\t two "), ("Accept", "Text/HTML"), ("x-b", "1")])
        // printf 'http://example.com/\naccept: Text/HTML\nx-b: 1\nx-b: two' | md5sum
        #expect(key.text == "03cd65a8d2b65b3be0fe67fa94bcfe51")
        #expect(key.form == .url)
    }

    @Test("A key without request fields is the key of the URL")
    func keyWithoutFields() {
        let url = "http://example.com/"
        #expect(CacheKey.url(canonical: url, requestFields: []) == .url(canonical: url))
    }

    @Test("The case of a field's value changes the key; the case of a field's name does not")
    func caseOfFields() {
        let url = "http://example.com/"
        let key = CacheKey.url(canonical: url, requestFields: [("Authorization", "Bearer abc")])
        #expect(key == .url(canonical: url, requestFields: [("authorization", "Bearer abc")]))
        #expect(key != .url(canonical: url, requestFields: [("authorization", "Bearer ABC")]))
    }

    @Test(
        "A caller's key of 1 to 255 bytes may have spaces, dots, any letters, and almost the form of an MD5",
        arguments: [
            "a", "config", "Größe", "…", "a b", " ", "..a", "a..", "...", "%2F", "\\", "~1", "?", "@index", "日本語",
            "D41D8CD98F00B204E9800998ECF8427E", "d41d8cd98f00b204e9800998ecf8427", "d41d8cd98f00b204e9800998ecf8427g",
            "d41d8cd98f00b204e9800998ecf8427e0", "d41d8cd98f00b204e9800998ecf8427e.0123456",
            "d41d8cd98f00b204e9800998ecf8427e.0123456G", "d41d8cd98f00b204e9800998ecf8427e-01234567",
            "d41d8cd98f00b204e9800998ecf8427e.", String(repeating: "k", count: 255),
            String(repeating: "é", count: 127) + "x",
        ])
    func validDataKeys(text: String) throws {
        let key = try CacheKey.data(text)
        #expect(Array(key.text.utf8) == Array(text.utf8))
        #expect(key.form == .data)
        #expect(CacheKey(text) == key)
        #expect(key.md5Hex.utf8.count == 32)
        #expect(key.hashedName == key.md5Hex)
    }

    @Test(
        "A caller's key that breaks a rule is refused, and the error names the rule",
        arguments: [
            ("", InvalidKey.empty),
            (String(repeating: "k", count: 256), .tooLong(limit: 255)),
            (String(repeating: "é", count: 128), .tooLong(limit: 255)),
            ("/", .slash), ("a/b", .slash), ("../a", .slash),
            // A slash with a combining accent is another Character, but still the byte that separates directories.
            ("a/\u{301}b", .slash),
            (".", .dots), ("..", .dots),
            ("a\0", .controlCharacter), ("\n", .controlCharacter), ("a\r\nb", .controlCharacter),
            ("\u{7F}", .controlCharacter), ("\u{85}", .controlCharacter), ("\u{1B}[31m", .controlCharacter),
            ("d41d8cd98f00b204e9800998ecf8427e", .reservedForm),
            ("d41d8cd98f00b204e9800998ecf8427e.01234567", .reservedForm),
        ])
    func invalidDataKeys(text: String, rule: InvalidKey) {
        #expect(throws: rule) { try CacheKey.data(text) }
        #expect(!rule.description.isEmpty)
        if rule != .reservedForm { #expect(CacheKey(text) == nil) }
    }

    @Test("The form of a key tells whether the key belongs to a URL, a response or data")
    func classification() {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e"
        #expect(CacheKey(md5)?.form == .url)
        #expect(CacheKey(md5 + ".01234567")?.form == .response)
        #expect(CacheKey(md5 + ".01234567")?.md5Hex == md5)
        #expect(CacheKey(md5 + ".01234567")?.hashedName == md5 + ".01234567")
        #expect(CacheKey(md5.uppercased())?.form == .data)
    }

    @Test("Two callers' keys with the same MD5 stay two keys")
    func collision() throws {
        let left = try CacheKey.data(CollidingTexts.left)
        let right = try CacheKey.data(CollidingTexts.right)
        #expect(left.md5Hex == right.md5Hex)
        #expect(left != right)
        #expect(Set([left, right]).count == 2)
    }

    @Test("Keys that are canonically equivalent in Unicode, but differ in their bytes, are two keys")
    func canonicalEquivalence() throws {
        let composed = try CacheKey.data("caf\u{E9}")
        let decomposed = try CacheKey.data("cafe\u{301}")
        #expect(composed.text == decomposed.text, "the test needs texts that are equal as Strings")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(composed.md5Hex != decomposed.md5Hex)
    }
}

/// Two texts that differ in one letter and have one MD5 (Marc Stevens, 2024).
enum CollidingTexts {
    static let left = "TEXTCOLLBYfGiJUETHQ4hAcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak"
    static let right = "TEXTCOLLBYfGiJUETHQ4hEcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak"
}
