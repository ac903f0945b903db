import DiskCache
import Primitives
import WebArchive

/// The contents of captures, for callers with a token and without a ticket. `number` selects the capture; `nil`: the
/// newest. `then` is called once, on any thread.
extension PageViewer {
    /// Lists the records of a capture, as JSON objects.
    package func resources(
        of key: String, capture number: Int64? = nil, then: @escaping @Sendable (Result<[JSON], Failure>) -> Void
    ) {
        records(of: key, number) { then($0.map { records in records.map(\.summary) }) }
    }

    /// As ``resources(of:capture:then:)`` of the newest capture, but only the first `limit` records of resources that
    /// are not whole.
    package func failures(of key: String, limit: Int, then: @escaping @Sendable (Result<[JSON], Failure>) -> Void) {
        records(of: key, nil) {
            then($0.map { records in records.lazy.filter { !$0.isWhole }.prefix(limit).map(\.summary) })
        }
    }

    /// The readable text of the capture's document.
    package func text(
        of key: String, capture number: Int64? = nil, then: @escaping @Sendable (Result<SharedBytes, Failure>) -> Void
    ) {
        find(key, number) { [self] page in
            guard case .success(let (_, _, capture)) = page, let url = WebURL(capture.finalURL) else {
                return then(page.map { _ in SharedBytes([]) })
            }
            index(capture.records) { [self] index in
                guard let record = capture.snapshotRecord(of: url) ?? index?.record(for: url),
                    let answer = record.answer, let digest = answer.digest
                else { return then(.failure(.absent)) }
                let type = answer.fields[.contentType]
                read(digest) { bytes in
                    guard let bytes else { return then(.failure(.absent)) }
                    guard let format = ArchivedDocument.Format(of: .frame, contentType: type) else {
                        return then(.success(SharedBytes([])))
                    }
                    let document = ArchivedDocument([UInt8](bytes), format, contentType: type, url: url)
                    then(.success(SharedBytes(ReadableText.text(of: document.text, isXML: format == .xml))))
                }
            }
        }
    }

    /// The picture of the capture, as JPEG; ``Failure/absent`` without one.
    package func screenshot(
        of key: String, capture number: Int64? = nil, then: @escaping @Sendable (Result<StoredBody, Failure>) -> Void
    ) {
        find(key, number) { [self] page in
            guard case .success(let page) = page, let picture = page.capture.screenshot else {
                return then(page.flatMap { _ in .failure(.absent) })
            }
            cache.find(CacheKey.resource(digest: picture.digest).text) { found in
                then(((try? found.get()) ?? nil).map { .success($0.body) } ?? .failure(.absent))
            }
        }
    }

    /// The capture, for a file that other programs read.
    package func export(
        of key: String, capture number: Int64? = nil, then: @escaping @Sendable (Result<PageExport, Failure>) -> Void
    ) {
        find(key, number) { [self] page in
            switch page {
            case .failure(let failure): then(.failure(failure))
            case .success(let page):
                index(page.capture.records) { [self] index in
                    guard let index else { return then(.failure(.absent)) }
                    then(
                        .success(
                            PageExport(capture: page.capture, records: index.records, cache: cache, now: clock.now())))
                }
            }
        }
    }

    typealias Found = (stored: StoredEntry, manifest: PageManifest, capture: PageManifest.Capture)

    func find(_ key: String, _ number: Int64?, then: @escaping @Sendable (Result<Found, Failure>) -> Void) {
        cache.find(key) { found in
            switch found {
            case .failure(let error): then(.failure(.cache(error)))
            case .success(let stored):
                guard let stored, let manifest = PageManifest(of: stored), let newest = manifest.newest else {
                    return then(.failure(.absent))
                }
                guard let number else { return then(.success((stored, manifest, newest))) }
                guard let capture = manifest.captures.first(where: { $0.number == number }) else {
                    return then(.failure(.noCapture(key: key, number)))
                }
                then(.success((stored, manifest, capture)))
            }
        }
    }

    private func records(
        of key: String, _ number: Int64?, then: @escaping @Sendable (Result<[CaptureRecord], Failure>) -> Void
    ) {
        find(key, number) { [self] page in
            switch page {
            case .failure(let failure): then(.failure(failure))
            case .success(let page):
                index(page.capture.records) { then($0.map { .success($0.records) } ?? .failure(.absent)) }
            }
        }
    }
}
