import Primitives

/// Versions that are younger than the resolution of their tags, and are read again.
extension OutboxMachine {
    /// The version that a look has found, with the tag that a precondition can name; `nil`: the head looks again later.
    ///
    /// Some origins call each version new, for example because the body has a counter. The first looks follow one
    /// another quickly, because most versions settle. Later looks have growing pauses, which callers can see. The last
    /// one takes the version as it is.
    mutating func settledVersion(
        _ key: LaneKey, _ change: Change, _ answer: ReadAnswer, _ turn: inout Turn
    ) -> ResourceVersion? {
        var version = ResourceVersion(body: answer.body, digest: answer.mark.digest, validator: nil)
        switch Soundness(
            of: answer.mark, body: answer.body, after: lanes[key]!.unsettled, restorations: lanes[key]!.restorations)
        {
        case .sound(let validator):
            version.validator = validator
            lanes[key]!.youngLooks = 0
        case .missing: lanes[key]!.youngLooks = 0
        case .unsettled where lanes[key]!.youngLooks + 1 >= Soundness.lookLimit:
            // The tag can miss a rival's write of the same second at most, and is better than none. An origin that
            // refuses it again and again makes a tag for each answer.
            if lanes[key]!.refusals < Self.promptRefusals {
                version.validator = answer.mark.etag.flatMap(Validator.init(strong:))
            }
        case .unsettled:
            noteUnsettled(key, answer.mark)
            settle(key, change, &turn)
            return nil
        }
        lanes[key]!.unsettled = nil
        lanes[key]!.restorations = 0
        return version
    }

    /// Waits for the next look at a version that is too young.
    private mutating func settle(_ key: LaneKey, _ change: Change, _ turn: inout Turn) {
        lanes[key]!.youngLooks += 1
        let problem = ChangeProblem(.unsettled)
        if change.isExpired(turn.now) { return hold(key, change, .expired, problem, &turn) }
        guard lanes[key]!.youngLooks > Soundness.promptLooks else {
            return idle(key, until: turn.now + Soundness.settling, turn.now)
        }
        retryLater(key, change, problem, nil, atLeast: Soundness.settling, &turn)
    }

    private mutating func noteUnsettled(_ key: LaneKey, _ mark: ReadMark) {
        let first = lanes[key]!.unsettled
        let isSame = first?.digest == mark.digest && first?.etag == mark.etag
        if !isSame { lanes[key]!.restorations = first?.digest == mark.digest ? lanes[key]!.restorations + 1 : 0 }
        // A read with a later date than this one tells that the clock has gone back, so the time begins again.
        if let first, isSame, first.received <= mark.received { return }
        lanes[key]!.unsettled = mark
    }
}
