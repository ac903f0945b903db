import HTTPTypes
import Origin
import Primitives
import Subscriptions

/// The requests for the lists of sources. All on `queue`.
extension SubscriptionService {
    /// Begins the request for the next document of the source, if the source is due or is being read and its host has a
    /// turn. Returns the date of the turn, if the source has to wait for one.
    func readSource(of set: HeldSet, _ space: Namespace, at now: Timestamp) -> Timestamp? {
        let isBeginning = set.reading == nil
        guard !isBeginning || set.machine.sourceIsDue(at: now) else { return nil }
        guard !set.isReadingDocument else { return cancelSlowDocument(of: set, at: now) }
        guard hasSecrets(set, at: now) else { return nil }
        let schemes = space.downloads.tools.origin.configuration.schemes
        let reading = set.reading ?? SourceReading(set.definition, schemes: schemes, futureDates: set.futureDates)
        guard let text = reading.next else {
            if isBeginning { set.machine.beginSource() }
            parse(nil, for: reading, of: set, at: now)
            return nil
        }
        guard let url = try? CanonicalURL(text) else {
            if isBeginning { set.machine.beginSource() }
            fail("it is no URL that can be fetched", reading, set)
            return nil
        }
        let date = set.machine.nextDocument(from: now)
        guard date <= now else { return date }
        // The end of each parse comes back to here.
        guard waitingDocuments < Self.waitingDocumentLimit else { return nil }
        let host = url.authorityText
        if case .wait(let date) = pacer.take(host, set.definition.pacing, by: set.id, in: set.namespace, at: now) {
            guard let end = pacer.pauseEnd(of: host, in: set.namespace, at: now) else { return date }
            if isBeginning {
                handle(.sourcePaused(until: end), set)
                return nil
            }
            guard end - now > set.definition.maxDelay else { return date }
            // The members do not wait for a long pause.
            fail("the host \(host) wants no request before \(end)", reading, pause: end - now, set)
            return nil
        }
        if isBeginning { set.machine.beginSource() }
        set.reading = reading
        fetch(reading, url, set, space, at: now)
        return nil
    }

    private func fetch(
        _ reading: SourceReading, _ url: CanonicalURL, _ set: HeldSet, _ space: Namespace, at now: Timestamp
    ) {
        let host = url.authorityText
        let transfer = PendingTransfer()
        set.isReadingDocument = true
        set.documentTransfer = (transfer, now)
        var request = OriginRequest(url: url.requestURL)
        request.fields = set.fields(for: url.string)
        if reading.isOneDocument, !set.machine.wanted.isEmpty {
            request.fields[.ifNoneMatch] = set.validators.etag
            request.fields[.ifModifiedSince] = set.validators.lastModified
        }
        request.sizeLimit = Int64(reading.byteLimit)
        request.addressPolicy = space.options.addressPolicy
        let memory = SharedAllowance.Part(of: documentMemory)
        let fetch = DocumentFetch(
            limit: reading.byteLimit, tools: space.downloads.tools, memory: memory
        ) { [weak self] result in
            self?.queue.async { [weak self] in
                guard let self else { return }
                requestEnded(to: host)
                guard sets[set.id] === set else { return scheduleAdvance() }
                didRead(result, set)
            }
        }
        transfer.begin(request, with: space.downloads.tools.origin, receiver: fetch)
    }

    /// An origin that sends a byte now and then must not keep the members from being refreshed. Returns the date at
    /// which the document takes too long.
    private func cancelSlowDocument(of set: HeldSet, at now: Timestamp) -> Timestamp? {
        guard let (transfer, start) = set.documentTransfer else { return nil }
        let end = start + RefreshMachine.slowRequest
        if end > now { return end }
        transfer.cancel()
        return nil
    }

    private func didRead(_ result: DocumentFetch.Result, _ set: HeldSet) {
        set.documentTransfer = nil
        guard let reading = set.reading else { return }
        let now = tools.clock.now()
        switch result {
        case .unchanged(let fields):
            (set.reading, set.isReadingDocument) = (nil, false)
            handle(.sourceAnswered(.unchanged(least: SourceReading.lifetime(fields, at: now))), set)
        case .failed(let reason, let pause, let wish):
            if let wish { obey(wish, in: set.namespace) }
            fail(reason, reading, pause: pause, set)
        case .document(let document): parse(document, for: reading, of: set, at: now)
        }
    }

    /// Parses a document, and selects the items when the list is complete. Both take long for long lists, so the queue
    /// of the service only gets the results.
    private func parse(
        _ document: SourceReading.Document?, for reading: SourceReading, of set: HeldSet, at now: Timestamp
    ) {
        (set.reading, set.isReadingDocument) = (reading, true)
        waitingDocuments += 1
        Self.parsing.async { [self] in
            var reading = reading
            if let document { reading.receive(document, at: now) }
            let answer = reading.next == nil ? reading.answer(at: now) : nil
            queue.async { [self, reading] in
                waitingDocuments -= 1
                guard sets[set.id] === set else { return scheduleAdvance() }
                (set.isReadingDocument, set.reading) = (false, reading)
                if let answer { endReading(reading, answer, set) } else { scheduleAdvance() }
            }
        }
    }

    func fail(_ reason: String, _ reading: SourceReading, pause: Duration? = nil, _ set: HeldSet) {
        var reading = reading
        reading.fail(reason, pause: pause)
        let answer = reading.answer(at: tools.clock.now())
        endReading(reading, answer, set)
    }

    /// Only the list of which the set is made has validators. If the validators of a refused document stayed, the
    /// origin would confirm that document, and the confirmation would count as a good list.
    private func endReading(_ reading: SourceReading, _ answer: SourceAnswer, _ set: HeldSet) {
        (set.reading, set.isReadingDocument) = (nil, false)
        handle(.sourceAnswered(limited(answer, set)), set)
        guard set.machine.problem == nil else { return }
        (set.futureDates, set.leftOut) = (reading.futureDates, reading.leftOut)
        if let validators = reading.validators { set.validators = validators }
    }

    /// Refuses a list with which the namespace would hold more resources than its limit.
    private func limited(_ answer: SourceAnswer, _ set: HeldSet) -> SourceAnswer {
        guard case .items(let items, _) = answer else { return answer }
        let others = sets.values.filter { $0.namespace == set.namespace && $0.id != set.id }
        let count = others.reduce(items.count) { $0 + $1.machine.wanted.count }
        guard count > resourceLimit else { return answer }
        let reason =
            "the subscriptions of the namespace hold at most \(resourceLimit) resources, and would hold \(count); "
            + "remove some, or set latest"
        return .failed(reason: reason, pause: nil)
    }
}
