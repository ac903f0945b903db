import DiskCache
import Dispatch
import HTTPTypes
import Origin
import Primitives
import Synchronization
import WebArchive

/// Captures a page from the responses of an archive, without any request to an origin. Each response becomes a
/// resource of the page. A response with an unknown coding, a damaged body, or a URL of another scheme is left out.
///
/// Invariants: `state` is locked. One block of ``queue`` reads the archive.
final class ArchiveCapture: PageVisit {
    private struct State {
        var records: [CaptureRecord] = []
        var indices: [String: Int] = [:]
        /// The records by the digest that the archive names.
        var byDigest: [String: Int] = [:]
        var bytes: Int64 = 0
        var isLimited = false
    }

    /// The response that is being read.
    private struct Current {
        var record: WARCRecord
        var url: WebURL
        var response = ArchivedResponse()
        var reservation: Reservation?
        var decoding: ContentDecoding?
        var length: Int64 = 0
        var reason: String?
    }

    /// Ends the reading of the archive after a cancellation.
    private struct Cancelled: Error {}

    private let page: WebURL
    private let file: ArchiveFile
    private let limits: CaptureLimits
    private let capture: PageCapture
    private let tools: FetchTools
    private let state = Locked(State())
    private let isCancelled = Atomic<Bool>(false)
    private let advanced: @Sendable () -> Void
    private let completion: @Sendable (VisitResult) -> Void
    private static let queue = DispatchQueue(label: "larder.pages.import", qos: .utility, attributes: .concurrent)

    /// See ``StaticCapture``.
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
    }

    func start() { Self.queue.async { [self] in completion(run()) } }
    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    var progress: CaptureProgress {
        state.withLock { state in
            var progress = CaptureProgress()
            progress.found = state.records.count
            progress.captured = state.records.count
            progress.bytes = state.bytes
            return progress
        }
    }

    private func run() -> VisitResult {
        var failure: CaptureMachine.Reason?
        do {
            var current: Current?
            try ArchiveReader(file).records { [self] part in
                if isCancelled.load(ordering: .relaxed) { throw Cancelled() }
                switch part {
                case .head(let record): current = begin(record)
                case .block(let bytes):
                    if current?.reason == nil { try receive(bytes, &current) }
                case .end:
                    if let ended = current { end(ended) }
                    current = nil
                }
            }
        } catch is Cancelled {
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
        let (records, indices, isLimited) = state.withLock { ($0.records, $0.indices, $0.isLimited) }
        var place = indices[page.text]
        for _ in 0..<limits.redirects {
            guard let index = place, let answer = records[index].answer, answer.digest == nil,
                let location = answer.fields[.location], let url = WebURL(records[index].url),
                let target = WebURL(location, relativeTo: url)
            else { break }
            place = indices[target.text]
        }
        let reason = failure ?? (place == nil ? .failed("it has no response for \(page.text)") : nil)
        guard let place, reason == nil else {
            let outcome: CaptureMachine.Outcome = failure == .cancelled ? .cancelled : .failed
            let missing = CaptureRecord(
                url: page.text, kind: .frame, date: tools.clock.now(), problem: (reason ?? .cancelled).words)
            return VisitResult(
                outcome: outcome, records: [missing], page: 0, reason: reason, progress: progress, isLimited: isLimited)
        }
        return VisitResult(
            outcome: isLimited ? .partial : .complete, records: records, page: place, title: title(records[place]),
            progress: progress, isLimited: isLimited)
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

    /// `nil` for a record that is no response.
    private func begin(_ record: WARCRecord) -> Current? {
        guard record.kind == .response || record.kind == .revisit, let text = record.url else { return nil }
        guard let url = WebURL(text), record["Content-Type"]?.lowercased().contains("application/http") ?? true else {
            return nil
        }
        var current = Current(record: record, url: url)
        if state.withLock({ $0.records.count >= limits.resources }) {
            current.reason = "the page has too many resources"
        }
        return current
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, _ held: inout Current?) throws {
        guard var current = held else { return }
        defer { held = current }
        do {
            // The body of a piece is collected first, because the response and its body belong to one value.
            var body: [UInt8] = []
            try current.response.read(bytes, { $0 as any Error }) { piece throws(any Error) in body += piece }
            if !body.isEmpty { try body.withUnsafeBytes { try receive(body: $0, &current) } }
        } catch let malformed as ArchivedResponse.Malformed {
            current.reason = malformed.reason
        } catch let error as DiskCacheError {
            current.reason = error.description
        } catch let problem as Refused {
            current.reason = problem.reason
        } catch {
            current.reason = "its body is damaged: \(error)"
        }
        if current.reason != nil { current.reservation.take()?.abandon() }
    }

    /// Ends the reading of one response, which the capture then lacks.
    private struct Refused: Error { let reason: String }

    private func receive(body: UnsafeRawBufferPointer, _ current: inout Current) throws {
        if current.reservation == nil {
            current.reservation = capture.reserveResource()
            current.decoding = try ContentDecoding(
                of: Self.fields(current.response.head), sizeLimit: limits.resourceBytes)
        }
        let reservation = current.reservation!
        var length = current.length
        defer { current.length = length }
        let room = limits.totalBytes - state.withLock { $0.bytes }
        func store(_ bytes: UnsafeRawBufferPointer) throws {
            length += Int64(bytes.count)
            guard length <= limits.resourceBytes else { throw Refused(reason: "its body is longer than the limit") }
            guard length <= room else { throw Refused(reason: "the bodies together are longer than the limit") }
            try reservation.receive(bytes)
        }
        if let decoding = current.decoding { try decoding.decode(body, into: store) } else { try store(body) }
    }

    private func end(_ current: Current) {
        var reason = current.reason
        let head = current.response.head
        if reason == nil {
            do throws(ArchivedResponse.Malformed) {
                if current.record.kind == .response { try current.response.finish() }
            } catch {
                reason = error.reason
            }
        }
        if reason == nil, (try? current.decoding?.finish()) == nil, current.decoding != nil {
            reason = "its coded body is cut"
        }
        guard reason == nil, let head else {
            current.reservation?.abandon()
            if reason?.contains("limit") == true || reason?.contains("too many") == true {
                state.withLock { $0.isLimited = true }
            }
            return
        }
        current.record.kind == .revisit ? revisit(current, head) : store(current, head)
    }

    private func store(_ current: Current, _ head: ArchivedResponse.Head) {
        let fields = CaptureRecord.kept(Self.fields(head))
        let isRedirect = [301, 302, 303, 307, 308].contains(head.status) && fields[.location] != nil
        var answer = CaptureRecord.Answer(status: head.status, fields: fields, digest: nil, length: 0)
        if isRedirect {
            current.reservation?.abandon()
        } else {
            let reservation = current.reservation ?? capture.reserveResource()
            let result = Locked<Result<PublishOutcome, DiskCacheError>?>(nil)
            let stored = DispatchSemaphore(value: 0)
            reservation.publish(EntryMetadata(ttl: .zero)) { outcome in
                result.withLock { $0 = outcome }
                stored.signal()
            }
            stored.wait()
            switch result.withLock({ $0 }) {
            case .success(let outcome)?:
                answer.digest = outcome.entry.digest
                answer.length = outcome.entry.contentLength
            case .failure?, nil: return
            }
        }
        add(current, answer)
    }

    /// A revisit has the body of an earlier record: the one that it names by URL, or the one with the same digest.
    private func revisit(_ current: Current, _ head: ArchivedResponse.Head) {
        let original = state.withLock { state -> CaptureRecord? in
            let named = current.record["WARC-Refers-To-Target-URI"].flatMap { WebURL(WARCRecord.unbracketed($0)) }
                .flatMap { state.indices[$0.text] }
            let same = current.record["WARC-Payload-Digest"].flatMap { state.byDigest[$0] }
            return (same ?? named).map { state.records[$0] }
        }
        guard let body = original?.answer else {
            return
        }
        var answer = body
        answer.status = head.status
        answer.fields = CaptureRecord.kept(Self.fields(head))
        add(current, answer)
    }

    /// Of several responses to one URL, the first counts, unless it is an error and a later one is none.
    private func add(_ current: Current, _ answer: CaptureRecord.Answer) {
        let url = current.url.text
        let date = current.record["WARC-Date"].flatMap { Timestamp(rfc3339: $0) } ?? tools.clock.now()
        let record = CaptureRecord(url: url, kind: kind(answer, url), date: date, answer: answer)
        state.withLock { state in
            if let index = state.indices[url] {
                guard let held = state.records[index].answer, held.status >= 400, answer.status < 400 else {
                    return
                }
                state.records[index] = record
            } else {
                state.indices[url] = state.records.count
                state.records.append(record)
            }
            if let digest = current.record["WARC-Payload-Digest"] { state.byDigest[digest] = state.indices[url] }
            state.bytes += answer.length
        }
        advanced()
    }

    private func kind(_ answer: CaptureRecord.Answer, _ url: String) -> Reference.Kind {
        let type = MediaType(answer.fields[.contentType])
        if url == page.text || type.isHTML { return .frame }
        if type.candidates.contains("text/css") { return .style }
        if type.candidates.contains(where: { $0.hasPrefix("image/") }) { return .image }
        if type.candidates.contains(where: { $0.hasPrefix("audio/") || $0.hasPrefix("video/") }) { return .media }
        if type.candidates.contains(where: { $0.hasSuffix("javascript") }) { return .script }
        return answer.digest == nil ? .frame : .preload
    }

    private static func fields(_ head: ArchivedResponse.Head?) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in head?.fields ?? [] {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return fields
    }
}
