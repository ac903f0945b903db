import HTTPTypes
import Primitives
import WebArchive

/// The records of a page that is imported from an archive: a pure value. Each URL has one record: its first response,
/// or the first one without an error status. A revisit record has the body of another record, which may follow later.
/// Records that do not fit into the limits are only counted, so that the memory is bounded.
struct ImportedRecords: Sendable {
    /// A revisit record that still lacks its body, as its answer does.
    private struct Revisit {
        var answer: CaptureRecord.Answer?
        var digest: WARCDigest?
        var original: String?
    }

    /// In the order of the archive.
    private(set) var records: [CaptureRecord] = []
    var skipped = SkippedRecords()
    /// The bytes of the bodies of ``records``.
    private(set) var bytes: Int64 = 0
    /// The bytes of the bodies that the capture has stored.
    private(set) var storedBytes: Int64 = 0
    /// Whether a limit kept a resource out.
    private(set) var isLimited = false
    private(set) var wholeCount = 0
    private var indices: [String: Int] = [:]
    /// The answers by the digests that Larder has computed, because an archive may name any digest.
    private var bodies: [WARCDigest: CaptureRecord.Answer] = [:]
    private var revisits: [Int: Revisit] = [:]
    private var weight = 0
    private let limit: Int
    private let weightLimit: Int

    /// `weight`: the most bytes of all URLs and fields.
    init(limit: Int, weight: Int = 64 << 20) {
        self.limit = limit
        weightLimit = weight
    }

    /// Whether a response to a URL would become a record, as far as its head tells. Otherwise counts it as skipped.
    mutating func accepts(_ url: String, status: Int? = nil) -> Bool {
        if let index = indices[url] {
            let isBetter = records[index].answer.map { $0.status >= 400 && status.map { $0 < 400 } ?? true } ?? true
            if !isBetter { skipped.repeated += 1 }
            return isBetter
        }
        guard records.count < limit, weight < weightLimit else {
            skipped.beyondLimit += 1
            isLimited = true
            return false
        }
        return true
    }

    /// Adds a response that ``accepts(_:status:)`` has accepted. `digests` are those of the body in all its forms.
    mutating func add(_ record: CaptureRecord, _ digests: [WARCDigest] = []) {
        set(record)
        guard let answer = record.answer, answer.digest != nil else { return }
        storedBytes += answer.length
        for digest in digests where bodies[digest] == nil { bodies[digest] = answer }
    }

    /// Adds a response that the capture lacks, unless it has another one to the URL. `isLimit`: because of a limit.
    mutating func addMissing(_ record: CaptureRecord, isLimit: Bool) {
        if isLimit { isLimited = true }
        if indices[record.url] == nil { set(record) } else { skipped.repeated += 1 }
    }

    /// Adds a revisit record. It has the body with `digest`; without a digest, that of the URL `original`. `record` has
    /// an answer without the body, or none when the revisit record has no head of a response.
    mutating func addRevisit(_ record: CaptureRecord, digest: WARCDigest?, original: String?) {
        let revisit = Revisit(answer: record.answer, digest: digest, original: original)
        if let answer = answer(revisit) { return set(record.answered(answer)) }
        guard indices[record.url] == nil else { return skipped.repeated += 1 }
        var record = record
        record.answer = nil
        record.problem = problem(revisit)
        set(record)
        revisits[records.count - 1] = revisit
        weight += (revisit.answer?.fields.weight ?? 0) + (original?.utf8.count ?? 0)
    }

    /// Gives revisit records the bodies of records that followed them. Call once, at the end of the archive.
    mutating func finish() {
        for index in revisits.keys.sorted() {
            guard let revisit = revisits[index] else { continue }
            var path = [index]
            while let next = original(of: path.last!), path.count < Self.chainLimit, !path.contains(next) {
                path.append(next)
            }
            // The last record of the chain gets its body first.
            for index in path.reversed() { resolve(index) }
            if records[index].answer == nil { records[index].problem = problem(revisit) }
        }
    }

    /// The most revisit records that lead to a body.
    private static let chainLimit = 10

    /// The index of the unanswered revisit record of which a revisit record has the body.
    private func original(of index: Int) -> Int? {
        revisits[index]?.original.flatMap { indices[$0] }.flatMap { revisits[$0] == nil ? nil : $0 }
    }

    private mutating func resolve(_ index: Int) {
        guard let revisit = revisits[index], let answer = answer(revisit) else { return }
        set(records[index].answered(answer))
    }

    private func answer(_ revisit: Revisit) -> CaptureRecord.Answer? {
        let named = revisit.original.flatMap { indices[$0] }.flatMap { records[$0].answer }
        guard let found = revisit.digest.map({ bodies[$0] }) ?? named, found.digest != nil else { return nil }
        // A revisit record because of a 304 (WARC 1.1 §6.7.3) has not the status of the resource.
        guard var answer = revisit.answer, answer.status != 304 else { return found }
        answer.digest = found.digest
        answer.length = found.length
        return answer
    }

    private func problem(_ revisit: Revisit) -> String {
        let hasNamed = revisit.original.flatMap { indices[$0] }.map { records[$0].answer?.digest != nil } ?? false
        return revisit.digest != nil && hasNamed
            ? "the digest of the record does not fit the body to which the record refers"
            : "the archive lacks the record whose body it repeats"
    }

    private mutating func set(_ record: CaptureRecord) {
        if let index = indices[record.url] {
            count(records[index], -1)
            records[index] = record
            revisits[index] = nil
        } else {
            indices[record.url] = records.count
            records.append(record)
        }
        count(record, 1)
    }

    private mutating func count(_ record: CaptureRecord, _ sign: Int) {
        bytes += Int64(sign) * (record.answer?.length ?? 0)
        wholeCount += record.isWhole ? sign : 0
        weight += sign * (record.url.utf8.count + (record.answer?.fields.weight ?? 0))
    }

    // MARK: - The page

    /// The index of the page's record after its redirects. `nil` without a response to the page's URL, which an archive
    /// may spell in another way.
    func place(of page: WebURL, redirects: Int) -> Int? {
        var spellings: [String: Int]?
        func find(_ url: String) -> Int? {
            if let index = indices[url] { return index }
            let known = spellings ?? canonical()
            spellings = known
            return (try? CanonicalURL(url)).flatMap { known[$0.string] }
        }
        var place = find(page.text)
        for _ in 0..<redirects {
            guard let index = place, let answer = records[index].answer, answer.digest == nil,
                let location = answer.fields[.location], let url = WebURL(records[index].url),
                let target = WebURL(location, relativeTo: url)
            else { break }
            place = find(target.text)
        }
        return place
    }

    /// The indices of the records by their canonical URLs.
    private func canonical() -> [String: Int] {
        var places: [String: Int] = [:]
        for index in records.indices {
            guard let url = try? CanonicalURL(records[index].url) else { continue }
            let isBetter = places[url.string].map { !records[$0].isWhole && records[index].isWhole } ?? true
            if isBetter { places[url.string] = index }
        }
        return places
    }

    mutating func setPage(_ index: Int) { records[index].kind = .frame }
}

extension CaptureRecord {
    fileprivate func answered(_ answer: Answer) -> CaptureRecord {
        var record = self
        record.answer = answer
        record.problem = nil
        return record
    }
}

extension HTTPFields {
    /// The approximate bytes in memory.
    fileprivate var weight: Int { reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 } }
}
