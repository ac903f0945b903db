import DiskCache
import HTTPTypes
import Origin
import Primitives
import WebArchive

/// Receives the answer for one resource of a ``OriginCapture``, and stores its body.
final class CaptureFetch: OriginReceiver {
    private struct State {
        var record: CaptureRecord
        var target: WebURL?
        var format: ArchivedDocument.Format?
        var reservation: Reservation?
        /// The body of a document, which is read as a whole.
        var body: [UInt8] = []
        let room = SharedAllowance.Part(of: OriginCapture.documentRoom)
    }

    /// All captures together may hold no more bytes of documents.
    fileprivate struct NoRoom: Error, CustomStringConvertible {
        let description = "too many documents are being read; try again later"
    }

    /// The transfer ends at the head of a redirect, because no replay shows its body.
    private struct RedirectFound: Error {}

    private let index: Int
    private let url: WebURL
    private let owner: OriginCapture
    private let state: Locked<State>

    init(_ index: Int, _ resource: CaptureMachine.Resource, of owner: OriginCapture) {
        self.index = index
        url = resource.url
        self.owner = owner
        state = Locked(
            State(record: CaptureRecord(url: resource.url.text, kind: resource.kind, date: owner.tools.clock.now())))
    }

    func originWillBeAsked(_ origin: String) throws {
        if owner.obeysPauses { try owner.tools.checkPause(of: origin) }
    }

    func originDidAnswer(_ head: OriginHead) throws {
        owner.set(head.fields[values: .setCookie], by: url)
        let fields = CaptureRecord.kept(head.fields)
        var answer = CaptureRecord.Answer(status: head.status, fields: fields, digest: nil, length: 0)
        if [301, 302, 303, 307, 308].contains(head.status), let location = fields[.location],
            let target = WebURL(location, relativeTo: url)
        {
            state.withLock { state in
                state.record.answer = answer
                state.target = target
            }
            throw RedirectFound()
        }
        if !(200..<300).contains(head.status) {
            owner.refused(index, AnswerWithoutBody(head, at: owner.tools.clock.now()))
            if owner.obeysPauses { owner.tools.notePause(head) }
        }
        // A 206 answers no request of a capture, and a 304 has no body.
        guard head.status != 206, head.status != 304 else {
            throw DownloadError.originStatus(head.status, retryAfter: nil)
        }
        let reservation = owner.capture.reserveResource()
        if let length = head.declaredLength { try reservation.expect(length: length) }
        answer.length = head.declaredLength ?? 0
        state.withLock { state in
            state.record.date = owner.tools.clock.now()
            state.record.answer = answer
            state.reservation = reservation
            if (200..<300).contains(head.status) {
                state.format = ArchivedDocument.Format(of: state.record.kind, contentType: fields[.contentType])
            }
        }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        owner.tools.metrics.receivedBytes.increment(by: bytes.count)
        let (reservation, hasRoom) = state.withLock { state in
            if state.format != nil {
                guard state.room.take(bytes.count) else { return (state.reservation, false) }
                state.body.append(contentsOf: bytes)
                // A longer document is stored, but its references are not followed.
                if state.body.count > owner.documentLimit { (state.format, state.body) = (nil, []) }
            }
            return (state.reservation, true)
        }
        guard hasRoom else { throw NoRoom() }
        try reservation?.receive(bytes)
        owner.received(bytes.count)
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        let (state, reservation) = state.withLock { state in (state, state.reservation.take()) }
        switch result {
        case .success(let summary): store(summary, state, reservation)
        case .failure(let error):
            reservation?.abandon()
            if let target = state.target { return owner.redirected(index, state.record, to: target) }
            let cause = DownloadError(error)
            if let wish = cause.hostWish(at: owner.tools.clock.now()) {
                owner.refused(index, AnswerWithoutBody(wish, reason: cause.description))
            }
            owner.failed(index, CaptureMachine.Reason(error), mayPass: error.mayPass)
        }
    }

    private func store(_ summary: OriginSummary, _ state: State, _ reservation: Reservation?) {
        guard let status = state.record.answer?.status, let reservation else {
            return owner.failed(index, .failed("the origin sent no answer"), mayPass: true)
        }
        guard status < 500 else {
            reservation.abandon()
            return owner.failed(index, .failed("the origin answered with status \(status)"), mayPass: true)
        }
        reservation.publish(EntryMetadata(ttl: .zero)) { [owner, index] result in
            switch result {
            case .success(let outcome):
                var record = state.record
                record.answer?.digest = outcome.entry.digest
                record.answer?.length = outcome.entry.contentLength
                owner.answered(index, record, state.format, body: state.body, state.room)
            case .failure(let error):
                owner.failed(index, .failed(error.description), mayPass: false)
            }
        }
    }
}

extension CaptureMachine.Reason {
    fileprivate init(_ error: OriginError) {
        switch error.kind {
        case .tooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        case .addressRefused, .schemeRefused: self = .refused(error.description)
        case .timedOut: self = .timedOut(error.description)
        default: self = .failed(error.description)
        }
    }
}

extension OriginError {
    /// Whether the same request may succeed a moment later.
    fileprivate var mayPass: Bool {
        switch kind {
        case .timedOut, .transfer: true
        case .receiver(let error): error is CaptureFetch.NoRoom
        default: false
        }
    }
}
