import Primitives
import Testing

@testable import Outbox

struct SoundnessTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    private func mark(
        _ etag: String?, modified: Duration?, received: Duration = .zero, body: [UInt8] = [1], hasDate: Bool = true
    ) -> ReadMark {
        ReadMark(
            etag: etag, lastModified: modified.map { now - $0 }, date: hasDate ? now : nil,
            digest: BodyDigest(of: body), received: now + received)
    }

    @Test(
        "Only a strong entity tag with quotes is a validator",
        arguments: ["W/\"1\"", "1", "\"", "\"a\"b\"", "\"a b\"", ""])
    func weakTags(_ text: String) {
        #expect(Validator(strong: text) == nil)
    }

    @Test("A version is sound from two seconds after its modification, by the clock of the origin")
    func distance() throws {
        let validator = try #require(Validator(strong: "\"1\""))
        #expect(Soundness(of: mark("\"1\"", modified: .seconds(2)), body: [1]) == .sound(validator))
        #expect(Soundness(of: mark("\"1\"", modified: .milliseconds(1999)), body: [1]) == .unsettled)
        #expect(Soundness(of: mark("\"1\"", modified: .seconds(-5)), body: [1]) == .unsettled)
        #expect(Soundness(of: mark("\"1\"", modified: nil), body: [1]) == .sound(validator))
        #expect(Soundness(of: mark("\"1\"", modified: .seconds(2), hasDate: false), body: [1]) == .sound(validator))
    }

    @Test("A weak or missing tag becomes strong by waiting only within the first seconds")
    func missing() {
        for (etag, seconds) in [("W/\"1\"", 4), (nil, 2)] as [(String?, Int64)] {
            #expect(Soundness(of: mark(etag, modified: .seconds(seconds)), body: [1]) == .missing)
            #expect(Soundness(of: mark(etag, modified: .seconds(seconds - 1)), body: [1]) == .unsettled)
        }
    }

    @Test("A weak tag with a Date a little later than its evaluation does not make a request unguarded")
    func lateDate() throws {
        // The file is of 0.9 s, the tag of 1.8 s, and the Date of 2.0 s.
        let weak = mark("W/\"1\"", modified: .seconds(2))
        #expect(Soundness(of: weak, body: [1]) == .unsettled)
        let strong = mark("\"1\"", modified: .seconds(4), received: Soundness.settling)
        #expect(Soundness(of: strong, body: [1], after: weak) == .sound(try #require(Validator(strong: "\"1\""))))
        // A tag that stays weak delays the request by one pause only.
        let still = mark("W/\"1\"", modified: .seconds(3), received: Soundness.settling)
        #expect(Soundness(of: still, body: [1], after: weak) == .missing)
    }

    @Test("The same body two seconds later is settled, also when Last-Modified is always the present")
    func repeated() throws {
        let validator = try #require(Validator(strong: "\"1\""))
        let first = mark("\"1\"", modified: .zero)
        #expect(
            Soundness(of: mark("\"1\"", modified: .zero, received: .seconds(2)), body: [1], after: first)
                == .sound(validator))
        #expect(
            Soundness(of: mark("\"1\"", modified: .zero, received: .seconds(1)), body: [1], after: first) == .unsettled)
        let other = mark("\"1\"", modified: .zero, received: .seconds(9), body: [2])
        #expect(Soundness(of: other, body: [2], after: first) == .unsettled)
        // A tag of the answer, not of the version.
        #expect(
            Soundness(of: mark("\"2\"", modified: .zero, received: .seconds(9)), body: [1], after: first) == .missing)
    }

    /// The tags that are digests of the body `[1]`: MD5, SHA-1, a Git blob, SHA-256.
    private static let digestTags = [
        "55a54008ad1ba589aa210d2629c1df41", "bf8b4530d8d246dd74ac53a13471bba17941dff7",
        "6b2aaa7640726588bcd3d57e1de4b1315b7f315e", "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",
        "VaVACK0bpYmqIQ0mKcHfQQ==", "v4tFMNjSRt10rFOhNHG7oXlB3/c", "v4tFMNjSRt10rFOhNHG7oXlB3_c",
        "S/USLzRFVMU73i67jNK349FgCtYxw4Wl18ziPHeFRZo=",
    ]

    @Test(
        "A tag that is a digest of the body is sound at once, and need not settle",
        arguments: SoundnessTests.digestTags)
    func digestNeedsNoWaiting(_ text: String) throws {
        let tag = "\"\(text)\""
        let validator = try #require(Validator(strong: tag))
        #expect(Soundness(of: mark(tag, modified: .zero), body: [1]) == .sound(validator))
        #expect(Soundness(of: mark("W/" + tag, modified: .zero), body: [1]) == .unsettled)
        #expect(Soundness(of: mark(tag, modified: .zero, body: [2]), body: [2]) == .unsettled)
        // Without the body, only its SHA-256 is known.
        let isKnown = Soundness(of: mark(tag, modified: .zero), body: nil) == .sound(validator)
        #expect(isKnown == (text.count == 64 || text.count == 44))
    }

    @Test("An old body with another tag and another modification is a new version, which has to settle")
    func restored() {
        let first = mark("\"1\"", modified: .seconds(1))
        let restored = mark("\"2\"", modified: .zero, received: .seconds(3))
        #expect(Soundness(of: restored, body: [1], after: first) == .unsettled)
    }

    @Test("A tag of digits that is no digest of the body has to settle, as the tags of SabreDAV and Starlette do")
    func digitsAreNoDigest() throws {
        // sha1(inode . size . mtime), md5(mtime - size)
        for count in [32, 40, 64] {
            let tag = "\"" + String(repeating: "0f", count: count / 2) + "\""
            #expect(Soundness(of: mark(tag, modified: .zero), body: [1]) == .unsettled)
            let validator = try #require(Validator(strong: tag))
            #expect(Soundness(of: mark(tag, modified: .seconds(2)), body: [1]) == .sound(validator))
        }
    }

    @Test("An entity tag of more than a kibibyte is no validator")
    func longTags() {
        #expect(Validator(strong: "\"" + String(repeating: "x", count: 1022) + "\"") != nil)
        #expect(Validator(strong: "\"" + String(repeating: "x", count: 1023) + "\"") == nil)
    }

    @Test("The pauses have full jitter from zero to a quarter of an hour")
    func backoff() {
        #expect(Backoff.delay(failures: 1, jitter: 1) == .seconds(1))
        #expect(Backoff.delay(failures: 4, jitter: 1) == .seconds(8))
        #expect(Backoff.delay(failures: 500, jitter: 1) == .seconds(900))
        #expect(Backoff.delay(failures: 500, jitter: 0) == .zero)
        #expect(Backoff.pause(.zero) == .seconds(1) && Backoff.pause(.seconds(1_000_000)) == .seconds(86_400))
    }
}
