import Testing

@Suite("The model and the tools of the soak")
struct SoakModelTests {
    private static func held(_ version: Int, until end: Double = 100) -> SoakModel.Held {
        SoakModel.Held(version: version, freshUntil: end)
    }

    private static func model(isPinned: Bool) -> SoakModel {
        var model = SoakModel()
        model.open("a", isPinned: isPinned)
        model.begin(["a"], .store(held(1)))
        model.end(["a"], .done)
        return model
    }

    @Test(
        "The model demands that a pinned entry is present, and permits that any other entry is missing",
        arguments: [true, false])
    func pinned(isPinned: Bool) {
        let model = Self.model(isPinned: isPinned)
        #expect(model.verdict("a", found: 1, at: 50) == nil)
        #expect((model.verdict("a", found: nil, at: 50) != nil) == isPinned)
        #expect(model.verdict("a", found: 2, at: 50) != nil)
        #expect(model.verdict("b", found: nil, at: nil) != nil)
    }

    @Test(
        "After a call without a response, the model permits the old and the new version; after a refused call only the old"
    )
    func unknown() {
        var model = Self.model(isPinned: true)
        model.begin(["a"], .store(Self.held(2)))
        #expect(model.candidates("a") == [1, 2])
        #expect(model.certainVersion("a") == nil)
        var refused = model
        model.end(["a"], .unknown)
        refused.end(["a"], .refused)
        #expect(model.candidates("a") == [1, 2])
        #expect(refused.certainVersion("a") == 1)
        model.begin(["a"], .remove)
        model.end(["a"], .unknown)
        #expect(model.verdict("a", found: nil, at: nil) == nil)
        #expect(model.settle("a", version: 2, freshUntil: 7) == nil)
        #expect(model.certainVersion("a") == 2)
        #expect(model.verdict("a", found: nil, at: nil) != nil)
        #expect(model.settle("a", version: 3, freshUntil: 7) != nil)
    }

    @Test("After a purge, the model permits no version of the entry, not even from a download of a disconnected client")
    func purged() {
        var model = Self.model(isPinned: false)
        model.begin(["a"], .store(Self.held(2)))
        model.letGo("a")
        #expect(model.candidates("a") == [1, 2])
        model.begin(["a"], .remove)
        model.end(["a"], .done)
        #expect(model.verdict("a", found: 1, at: nil) != nil)
        #expect(model.verdict("a", found: 2, at: nil) != nil)
        #expect(model.verdict("a", found: nil, at: nil) == nil)
    }

    @Test("A download of a disconnected client may replace a later store, until a response shows the stored version")
    func floating() {
        var model = Self.model(isPinned: false)
        model.begin(["a"], .store(Self.held(2)))
        model.letGo("a")
        model.begin(["a"], .store(Self.held(3)))
        model.end(["a"], .done)
        #expect(model.candidates("a") == [2, 3])
        model.restart(at: 0)
        #expect(model.candidates("a") == [2, 3])
        #expect(model.settle("a", version: 3, freshUntil: nil) == nil)
        #expect(model.candidates("a") == [3])
    }

    @Test("The model permits no fresh answer after the expiry date, and accepts that a call changes the expiry date")
    func time() {
        var model = Self.model(isPinned: false)
        #expect(model.verdict("a", found: 1, at: 100.5) == nil)
        #expect(model.verdict("a", found: 1, at: 102) != nil)
        #expect(model.verdict("a", found: 1, at: nil) == nil)
        model.begin(["a"], .retime(200))
        #expect(model.verdict("a", found: 1, at: 150) == nil)
        model.end(["a"], .done)
        #expect(model.verdict("a", found: 1, at: 150) == nil)
        #expect(model.verdict("a", found: 1, at: 202) != nil)
    }

    @Test("The model permits that a kill undoes a renewal of an expiry date only within seconds after the renewal")
    func slide() {
        var model = Self.model(isPinned: false)
        #expect(model.settle("a", version: 1, freshUntil: 12, slidAt: 10) == nil)
        #expect(model.verdict("a", found: 1, at: 50) != nil)
        var (soon, late) = (model, model)
        soon.restart(at: 10.5)
        late.restart(at: 14)
        #expect(soon.verdict("a", found: 1, at: 50) == nil)
        #expect(late.verdict("a", found: 1, at: 50) != nil)
        var removed = model
        removed.begin(["a"], .remove)
        removed.end(["a"], .done)
        removed.restart(at: 10.5)
        #expect(removed.verdict("a", found: 1, at: nil) != nil)
        // A kill may undo two recent renewals of the expiry date together.
        #expect(model.settle("a", version: 1, freshUntil: 13, slidAt: 10.2) == nil)
        model.restart(at: 10.5)
        #expect(model.verdict("a", found: 1, at: 50) == nil)
    }

    @Test("After a hit without a response, the model permits the old and the renewed expiry date")
    func slideWithoutAnswer() {
        var model = Self.model(isPinned: false)
        #expect(model.verdict("a", found: 1, at: 200) != nil)
        model.mayHaveSlid("a")
        #expect(model.verdict("a", found: 1, at: 200) == nil)
        #expect(model.candidates("a") == [1])
    }

    @Test("The body of a soak entry contains its name and its version, and a truncated body has no version")
    func bodies() {
        for version in 1..<20 {
            let body = SoakBody.make("w1/3", version)
            #expect(SoakBody.version(of: body, "w1/3") == version)
            #expect(SoakBody.version(of: body, "w1/4") == nil)
            #expect(SoakBody.version(of: Array(body.dropLast()), "w1/3") == nil)
            #expect(SoakBody.version(ofBeginning: Array(body.prefix(70)), "w1/3") == version)
            var mixed = body
            mixed[mixed.count / 2] ^= 1
            #expect(SoakBody.version(of: mixed, "w1/3") == nil)
        }
    }

    @Test("The slope of the soak's samples is the slope of the straight line through them")
    func slope() {
        let samples = (0..<120).map { SoakWatch.Sample(time: Double($0), residentMiB: 50 + Double($0) / 60 * 2) }
        #expect(abs(SoakWatch.slope(samples) - 2) < 0.001)
        #expect(SoakWatch.slope([]) == 0)
        #expect(SoakWatch.slope(Array(samples.prefix(1))) == 0)
    }
}
