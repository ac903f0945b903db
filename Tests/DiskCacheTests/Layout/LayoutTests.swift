import Testing

@testable import DiskCache

@Suite("The layouts of bodies")
struct LayoutTests {
    @Test("The hashed layout has two levels of directories")
    func hashed() {
        let key = CacheKey.url(canonical: "http://example.com/")
        #expect(Layout.hashed.path(for: key, url: nil) == "a6/bf/a6bf1757fff057f266b697df9cf176fd")
        let next = Array(PathCandidates(layout: .hashed, key: key, url: nil).prefix(2)).last
        #expect(next == "a6/bf/a6bf1757fff057f266b697df9cf176fd~1")
        #expect(Layout.hashed.path(for: key, url: "http://example.com/") == Layout.hashed.path(for: key, url: nil))
    }

    @Test("Callers' keys with the same MD5 get different files; in the hashed layout, a number tells them apart")
    func collision() throws {
        let left = try CacheKey.data(CollidingTexts.left)
        let right = try CacheKey.data(CollidingTexts.right)
        #expect(Layout.hashed.path(for: left, url: nil) == Layout.hashed.path(for: right, url: nil))
        let next = Array(PathCandidates(layout: .hashed, key: right, url: nil).prefix(2)).last
        #expect(Layout.hashed.path(for: left, url: nil) != next)
        #expect(Layout.readable.path(for: left, url: nil) != Layout.readable.path(for: right, url: nil))
    }

    @Test("Variants of a response do not share a file")
    func variants() throws {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e"
        let first = try #require(CacheKey(md5 + ".00000001"))
        let second = try #require(CacheKey(md5 + ".00000002"))
        for layout in Layout.allCases {
            #expect(layout.path(for: first, url: "http://h/a") != layout.path(for: second, url: "http://h/a"))
        }
    }

    @Test("The layouts are named \"hashed\" and \"readable\"")
    func words() {
        #expect(Layout(rawValue: "hashed") == .hashed)
        #expect(Layout(rawValue: "readable") == .readable)
        #expect(Layout(rawValue: "flat") == nil)
    }
}
