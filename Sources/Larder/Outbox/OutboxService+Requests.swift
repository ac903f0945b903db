import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Outbox
import Primitives
import WebArchive

/// The requests to origins. They follow no redirect, because the machine decides about each hop, and they are never
/// repeated by the client, because a repetition could take effect twice.
extension OutboxService {
    /// The configuration of the outbox's client, from the configuration of all clients.
    static func clientConfiguration(_ server: OriginConfiguration) -> OriginConfiguration {
        var configuration = server
        configuration.schemes.remove("ftp")
        configuration.retry = .never
        configuration.threads = 1
        // The machine has at most two requests for one origin.
        configuration.maxTransfersPerHost = 2
        // As many as the machine has changes under way.
        configuration.maxTransfers = min(server.maxTransfers, 64)
        // Bodies of changes have at most a mebibyte, but a version that is read can be as long as an entry.
        configuration.totalTimeout = .seconds(600)
        return configuration
    }

    // MARK: - The request of a change

    func send(_ order: SendOrder, _ store: OutboxStore, _ client: OriginClient) {
        guard let tools = openNamespace(order.namespace) else { return report(.namespaceMissing(order.flight)) }
        // The draft was checked, so the method is one of four.
        guard let method = HTTPRequest.Method(rawValue: order.method) else { return sendRefused(order.flight) }
        let secrets: [ChangeField]
        switch self.secrets(order.credential, order.namespace, for: order.url, store) {
        case .fields(let fields): secrets = fields
        case .missing:
            metrics.sends(.refused).increment()
            return report(.credentialMissing(order.flight))
        case .unreadable: return report(.credentialUnreadable(order.flight))
        }
        var request = request(order.url, secrets, tools)
        request.method = method
        // libcurl would repeat a DELETE when a reused connection ends without an answer.
        request.mayRepeat = false
        request.fields.append(contentsOf: Self.fields(of: order))
        if let bytes = order.content.bytes {
            let upload = OriginUpload(length: Int64(bytes.count))
            upload.write(SharedBytes(bytes))
            upload.finish()
            request.body = upload
        }
        // The status tells the outcome, and the exchange ends a long body.
        let exchange = OutboxExchange(limit: nil, reservation: nil, metrics: tools.metrics) { [self] result in
            switch result {
            case .failure(let error): sendFailed(order.flight, error)
            case .success(let answer):
                metrics.sends(OutboxMetrics.Outcome(status: answer.head.status)).increment()
                let event = OutboxEvent.sendAnswered(
                    order.flight, SendAnswer(answer.head, to: order.url, now: tools.clock.now()))
                let isGone = order.method == "DELETE" && [404, 410].contains(answer.head.status)
                guard (200..<300).contains(answer.head.status) || isGone else { return report(event) }
                let invalidation: Invalidation = order.method == "DELETE" ? .remove : .outdate
                invalidate(order.target, order.url, invalidation, tools.cache) { [self] _ in report(event) }
            }
        }
        transfers[order.flight] = Transfer(order.namespace, client.fetch(request, receiver: exchange))
    }

    private func sendRefused(_ flight: Flight) {
        metrics.sends(.refused).increment()
        report(.originRefused(flight))
    }

    private func sendFailed(_ flight: Flight, _ error: OriginError) {
        if error.isRefusal { return sendRefused(flight) }
        let isSent = !error.isBeforeRequest
        metrics.sends(isSent ? .unknown : .unreachable).increment()
        report(.sendFailed(flight, isSent ? .unknown : .notSent))
    }

    private static func fields(_ fields: [ChangeField]) -> HTTPFields {
        HTTPFields(
            fields.compactMap { field in
                HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
            })
    }

    private static func fields(of order: SendOrder) -> HTTPFields {
        var fields = fields(order.fields)
        switch order.content {
        case .mergePatch: fields[.contentType] = "application/merge-patch+json"
        case .jsonPatch: fields[.contentType] = "application/json-patch+json"
        case .none, .body: break
        }
        switch order.guarding {
        case .ifMatch(let validator): fields[.ifMatch] = validator.etag
        case .ifNoneMatchAny: fields[.ifNoneMatch] = "*"
        case .unguarded: break
        }
        if let key = order.idempotencyKey { fields[idempotencyKey] = "\"\(key)\"" }
        return fields
    }

    /// draft-ietf-httpapi-idempotency-key-header, a string of RFC 9651.
    private static let idempotencyKey = HTTPField.Name("Idempotency-Key")!

    // MARK: - Reading a version

    func read(_ order: ReadOrder, ticket: UInt64, _ store: OutboxStore, _ client: OriginClient) {
        guard let tools = openNamespace(order.namespace) else { return report(.namespaceMissing(order.flight)) }
        let now = tools.clock.now()
        let secrets: [ChangeField]
        switch self.secrets(order.credential, order.namespace, for: order.url, store) {
        case .fields(let fields): secrets = fields
        case .missing: return report(.credentialMissing(order.flight))
        case .unreadable: return report(.credentialUnreadable(order.flight))
        }
        var request = request(order.url, secrets, tools)
        request.fields.append(contentsOf: Self.fields(order.fields))
        // Caches on the way must not answer. Some origins send a coded body nevertheless, which the client decodes.
        request.fields[.cacheControl] = "no-cache"
        request.fields[.acceptEncoding] = "identity"
        request.sizeLimit = self.tools.entryLimit
        // Only the URL of the change itself names the resource in the cache, not the URL of a redirect. An answer to
        // other fields belongs to another key.
        let canonical = (try? CanonicalURL(order.url))?.string
        let isOwn = order.fields.isEmpty && canonical.map { CacheKey.url(canonical: $0).text } == order.target.key
        let reservation =
            isOwn ? canonical.map { tools.cache.reserve(.url(canonical: $0), kind: .download, url: $0) } : nil
        let exchange = OutboxExchange(
            limit: self.tools.limits.changeBytes, reservation: reservation, metrics: tools.metrics,
            mayStore: { Self.mayStore($0, isSecret: !secrets.isEmpty) }
        ) { [self] result in
            didRead(order, ticket, since: now, result, tools)
        }
        transfers[order.flight] = Transfer(order.namespace, client.fetch(request, receiver: exchange))
    }

    /// An answer to a request with a credential is for its author, unless the origin says that it is for all (RFC 9111
    /// §3.5).
    private static func mayStore(_ head: OriginHead, isSecret: Bool) -> Bool {
        if head.authenticatesConnection { return false }
        return !isSecret || CacheControl(head.fields).contains("public")
    }

    private func didRead(
        _ order: ReadOrder, _ ticket: UInt64, since start: Timestamp,
        _ result: Result<OutboxExchange.Answer, OriginError>,
        _ tools: FetchTools
    ) {
        let now = tools.clock.now()
        let answer: OutboxExchange.Answer
        switch result {
        case .success(let received): answer = received
        case .failure(let error): return report(Self.event(order, of: error, now))
        }
        if answer.isVersion, !answer.isWhole {
            return report(answer.failure.map { Self.event(order, of: $0, now) } ?? .readFailed(order.flight))
        }
        guard let digest = BodyDigest(bytes: answer.digest) else { return report(.readFailed(order.flight)) }
        let read = ReadAnswer(answer.head, body: answer.body, digest: digest, to: order.url, now: now)
        // Another writer has removed the resource. The held version stays for the callers that may have it stale.
        if [404, 410].contains(answer.head.status) {
            return invalidate(order.target, order.url, .outdate, tools.cache) { [self] _ in
                report(.readAnswered(order.flight, read))
            }
        }
        guard let reservation = answer.reservation else { return report(.readAnswered(order.flight, read)) }
        var metadata = EntryMetadata(
            of: answer.head, isAsSent: false,
            ttl: tools.options.lifetime(of: answer.head.status, answer.head.fields, now: now)
        )
        (metadata.downloadStartDate, metadata.downloadEndDate) = (start, now)
        // Readers must find the version before the change leaves the view.
        reservation.publish(metadata) { [self] stored in
            var read = read
            read.isStored = (try? stored.get()) != nil
            report(.readAnswered(order.flight, read))
            guard read.isStored else { return }
            report(
                .stored(
                    namespace: order.namespace, key: order.target.key, ticket: ticket, etag: read.mark.etag,
                    digest: digest))
        }
    }

    private static func event(_ order: ReadOrder, of error: OriginError, _ now: Timestamp) -> OutboxEvent {
        switch error.kind {
        case _ where error.isRefusal: .originRefused(order.flight)
        // A repetition would be as long, and would have the same unknown coding. For the machine, a part of a version
        // is unreadable.
        case .tooLarge, .contentCoding: .readAnswered(order.flight, ReadAnswer(withoutBody: 206, now: now))
        default: .readFailed(order.flight)
        }
    }

    // MARK: - Both

    private func request(_ url: String, _ secrets: [ChangeField], _ tools: FetchTools) -> OriginRequest {
        var request = OriginRequest(url: url)
        request.followsRedirects = false
        request.addressPolicy = tools.options.addressPolicy
        request.fields.append(contentsOf: Self.fields(secrets))
        return request
    }
}

extension SendAnswer {
    init(_ head: OriginHead, to url: String, now: Timestamp) {
        self.init(
            status: head.status, etag: head.fields[values: .eTag].first, location: head.target(from: url),
            retryAfter: head.retryAfter(now: now).map(Duration.seconds))
    }
}

extension ReadAnswer {
    /// An answer that no origin has sent.
    init(withoutBody status: Int, now: Timestamp) {
        let mark = ReadMark(etag: nil, lastModified: nil, date: nil, digest: BodyDigest(of: []), received: now)
        self.init(status: status, body: nil, mark: mark)
    }

    init(_ head: OriginHead, body: [UInt8]?, digest: BodyDigest, to url: String, now: Timestamp) {
        let date = { (name: HTTPField.Name) in
            head.fields[values: name].first.flatMap { Timestamp(httpDate: $0, now: now) }
        }
        // The strong tag of a coded body does not name the decoded one (RFC 9110 §8.8.3).
        let etag = head.isCoded ? nil : head.fields[values: .eTag].first
        self.init(
            status: head.status, body: body,
            mark: ReadMark(
                etag: etag, lastModified: date(.lastModified), date: date(.date),
                digest: digest, received: now),
            location: head.target(from: url), retryAfter: head.retryAfter(now: now).map(Duration.seconds))
    }
}

extension OriginHead {
    /// Whether the origin has sent the body in a content coding (RFC 9110 §8.4).
    fileprivate var isCoded: Bool {
        fields[values: .contentEncoding].contains { !$0.isEmpty && $0.lowercased() != "identity" }
    }

    /// The target of a redirect as an absolute URL; `nil` without a valid `Location`.
    fileprivate func target(from url: String) -> CanonicalURL? {
        guard let location = fields[values: .location].first, let base = WebURL(url),
            let target = WebURL(location, relativeTo: base)
        else { return nil }
        return try? CanonicalURL(target.text)
    }
}
