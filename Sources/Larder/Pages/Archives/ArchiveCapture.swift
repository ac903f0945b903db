import DiskCache
import Dispatch
import HTTPTypes
import Primitives
import Synchronization
import WebArchive

/// Captures a page from the responses of an archive, without any request to an origin. Each URL with a response becomes
/// a resource of the page. A response with a damaged body, or with a body beyond a limit, is a missing resource with
/// this reason. Records without a response are only counted; see ``ImportedRecords``.
///
/// Invariants: `records` is locked. One block of ``queue`` reads the archive.
final class ArchiveCapture: PageVisit {
    private let page: WebURL
    private let file: ArchiveFile
    private let limits: CaptureLimits
    private let capture: PageCapture
    private let tools: FetchTools
    private let records: Locked<ImportedRecords>
    private let isCancelled = Atomic<Bool>(false)
    private let advanced: @Sendable () -> Void
    private let completion: @Sendable (VisitResult) -> Void
    private static let queue = DispatchQueue(label: "larder.pages.import", qos: .utility, attributes: .concurrent)

    /// See ``OriginCapture``.
    init(
        _ page: WebURL, from file: ArchiveFile, limits: CaptureLimits, into capture: PageCapture, tools: FetchTools,
        advanced: @escaping @Sendable () -> Void, completion: @escaping @Sendable (VisitResult) -> Void
    ) {
        self.page = page
        self.file = file
        self.limits = limits
        self.capture = capture
        self.tools = tools
        self.advanced = advanced
        self.completion = completion
        records = Locked(ImportedRecords(limit: limits.resources))
    }

    func start() {
        Self.queue.async { [self] in
            let result = run()
            // The caller may send the next archive as soon as it has the answer.
            file.giveBackPlace()
            completion(result)
        }
    }

    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    var progress: CaptureProgress {
        records.withLock { records in
            var progress = CaptureProgress()
            progress.found = records.records.count
            progress.captured = records.wholeCount
            progress.missing = records.records.count - records.wholeCount
            progress.bytes = records.bytes
            return progress
        }
    }

    private func run() -> VisitResult {
        var failure: CaptureMachine.Reason?
        do {
            var current: ImportedResponse?
            let reader = try ArchiveReader(file) { [self] in isCancelled.load(ordering: .relaxed) }
            try reader.records { [self] part in
                switch part {
                case .head(let record): current = begin(record)
                case .block(let bytes): receive(bytes, &current)
                case .end:
                    if let ended = current { end(ended) }
                    current = nil
                }
            }
        } catch PageError.cancelled {
            failure = .cancelled
        } catch PageError.archiveTooLarge {
            failure = .tooLarge
        } catch PageError.archive(let reason) {
            failure = .failed(reason)
        } catch {
            failure = .failed("\(error)")
        }
        return result(failure)
    }

    private func result(_ failure: CaptureMachine.Reason?) -> VisitResult {
        let (imported, place) = records.withLock { records -> (ImportedRecords, Int?) in
            records.finish()
            let place = records.place(of: page, redirects: limits.redirects)
            if let place { records.setPage(place) }
            return (records, place)
        }
        let document = place.map { imported.records[$0] }
        var reason = failure
        if reason == nil, document == nil {
            let count = imported.records.count
            reason = .failed(
                imported.skipped.beyondLimit > 0
                    ? "its first \(count) URLs, the most of a capture, have no response for \(page.text)"
                    : "it has no response for \(page.text)")
        }
        if reason == nil, let document, document.answer == nil {
            reason = .failed("it has no whole response for \(page.text): \(document.problem ?? "")")
        }
        guard let place, let document, reason == nil else {
            let outcome: CaptureMachine.Outcome = failure == .cancelled ? .cancelled : .failed
            let missing = CaptureRecord(
                url: page.text, kind: .frame, date: tools.clock.now(), problem: (reason ?? .cancelled).words)
            return VisitResult(
                outcome: outcome, records: [missing], page: 0, reason: reason, progress: progress,
                isLimited: imported.isLimited)
        }
        let isComplete = !imported.isLimited && imported.wholeCount == imported.records.count
        return VisitResult(
            outcome: isComplete ? .complete : .partial, records: imported.records, page: place, title: title(document),
            progress: progress, isLimited: imported.isLimited, skipped: imported.skipped)
    }

    private func title(_ record: CaptureRecord) -> String? {
        guard let answer = record.answer, let digest = answer.digest, answer.length <= limits.documentBytes,
            let url = WebURL(record.url), case .hit(let stored)? = try? tools.cache.resource(digest),
            let bytes = try? stored.body.bytes(),
            let format = ArchivedDocument.Format(of: .frame, contentType: answer.fields[.contentType])
        else { return nil }
        return ArchivedDocument([UInt8](bytes), format, contentType: answer.fields[.contentType], url: url).title
    }

    // MARK: - A record

    /// `nil` for a record that is no response, and for a response that the capture does not need.
    private func begin(_ record: WARCRecord) -> ImportedResponse? {
        switch record.kind {
        case .request, .metadata, .warcinfo: return nil
        case .response, .revisit: break
        case .resource, .conversion, .continuation, nil:
            records.withLock { $0.skipped.noResponse += 1 }
            return nil
        }
        guard record["Content-Type"]?.lowercased().contains("application/http") ?? true else {
            records.withLock { $0.skipped.noResponse += 1 }
            return nil
        }
        guard let url = record.url.flatMap({ WebURL($0) }) else {
            records.withLock { $0.skipped.otherURL += 1 }
            return nil
        }
        guard records.withLock({ $0.accepts(url.text) }) else { return nil }
        return ImportedResponse(record, url: url, limit: limits.resourceBytes)
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, _ current: inout ImportedResponse?) {
        let room = limits.totalBytes - records.withLock { $0.storedBytes }
        current?.receive(bytes, room: room) { capture.reserveResource() }
    }

    private func end(_ ended: ImportedResponse) {
        var current = ended
        do throws(ImportedResponse.Lack) {
            try current.finish()
            if current.record.kind == .revisit { addRevisit(current) } else { try add(current) }
        } catch {
            var record = record(of: current)
            record.problem = error.reason
            records.withLock { $0.addMissing(record, isLimit: error.isLimit) }
        }
        advanced()
    }

    private func add(_ current: ImportedResponse) throws(ImportedResponse.Lack) {
        guard var answer = answer(current) else { return }
        guard records.withLock({ $0.accepts(current.url.text, status: answer.status) }) else {
            current.reservation?.abandon()
            return
        }
        if answer.isRedirect {
            current.reservation?.abandon()
        } else {
            let stored = try publish(current.reservation ?? capture.reserveResource())
            answer.digest = stored.digest
            answer.length = stored.contentLength
        }
        let record = record(of: current, answer)
        records.withLock { $0.add(record, current.digests) }
    }

    private func addRevisit(_ current: ImportedResponse) {
        let answer = answer(current)
        let record = record(of: current, answer)
        let original = current.record["WARC-Refers-To-Target-URI"].flatMap { WebURL(WARCRecord.unbracketed($0)) }
        records.withLock { records in
            guard records.accepts(current.url.text, status: answer?.status) else { return }
            // A redirect has no body.
            if answer?.isRedirect == true { return records.add(record) }
            records.addRevisit(record, digest: current.digest, original: original?.text)
        }
    }

    private func publish(_ reservation: Reservation) throws(ImportedResponse.Lack) -> Entry {
        let result = Locked<Result<PublishOutcome, DiskCacheError>>(.failure(.closed))
        let isDone = DispatchSemaphore(value: 0)
        reservation.publish(EntryMetadata(ttl: .zero)) { outcome in
            result.withLock { $0 = outcome }
            isDone.signal()
        }
        isDone.wait()
        switch result.withLock({ $0 }) {
        case .success(let outcome): return outcome.entry
        case .failure(let error): throw ImportedResponse.Lack(error)
        }
    }

    /// Without the body. `nil` for a record without a head of a response.
    private func answer(_ current: ImportedResponse) -> CaptureRecord.Answer? {
        current.head.map { head in
            CaptureRecord.Answer(
                status: head.status, fields: CaptureRecord.kept(current.fields), digest: nil, length: 0)
        }
    }

    private func record(of current: ImportedResponse, _ answer: CaptureRecord.Answer? = nil) -> CaptureRecord {
        let date = current.record["WARC-Date"].flatMap { Timestamp(rfc3339: $0) } ?? tools.clock.now()
        let url = current.url.text
        return CaptureRecord(url: url, kind: kind(answer, url), date: date, answer: answer)
    }

    private func kind(_ answer: CaptureRecord.Answer?, _ url: String) -> Reference.Kind {
        let type = MediaType(answer?.fields[.contentType])
        if url == page.text || type.isHTML { return .frame }
        if type.candidates.contains("text/css") { return .style }
        if type.candidates.contains(where: { $0.hasPrefix("image/") }) { return .image }
        if type.candidates.contains(where: { $0.hasPrefix("audio/") || $0.hasPrefix("video/") }) { return .media }
        if type.candidates.contains(where: { $0.hasSuffix("javascript") }) { return .script }
        return answer?.isRedirect == true ? .frame : .preload
    }
}

extension CaptureRecord.Answer {
    fileprivate var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) && fields[.location] != nil }
}
