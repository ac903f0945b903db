import DiskCache
import Primitives
import WebArchive

/// Rewrites the documents of replays, and keeps the last ones.
final class ReplayDocuments: Sendable {
    /// A captured document, and the replay in which its URLs lead.
    struct Document: Sendable {
        let answer: ReplayAnswer
        let format: ArchivedDocument.Format
        let url: WebURL
        let place: ReplayPlace
    }

    private struct Name: Hashable {
        let place: ReplayPlace
        let url: String
    }

    private let cache: DiskCache
    private let held = Locked(WeightedTable<Name, SharedBytes>(limit: 32 << 20))
    /// The memory of all documents that are being rewritten. A rewriting takes about four times the document's length.
    private static let room = SharedAllowance(limit: 512 << 20)
    /// The most bytes of an image that becomes a part of a document, and of all its images together.
    private static let imageLimit: Int64 = 1 << 20
    private static let imagesLimit: Int64 = 4 << 20

    init(cache: DiskCache) {
        self.cache = cache
    }

    /// `body` is the document's own, and `index` has the other records of the capture. `then` is called once, on any
    /// thread.
    func rewrite(
        _ document: Document, _ body: StoredBody, _ index: CaptureIndex,
        then: @escaping @Sendable (Result<SharedBytes, PageViewer.Failure>) -> Void
    ) {
        let name = Name(place: document.place, url: document.url.text)
        if let bytes = held.withLock({ $0.value(for: name) }) { return then(.success(bytes)) }
        let room = SharedAllowance.Part(of: Self.room)
        guard room.take(4 * Int(document.answer.length)) else { return then(.failure(.busy)) }
        PageViewer.queue.async { [self] in
            guard let bytes = try? body.bytes() else { return then(.failure(.absent)) }
            let read = ArchivedDocument(
                [UInt8](bytes), document.format, contentType: document.answer.storedType, url: document.url,
                parent: document.answer.parentEncoding)
            readImages(of: read, index, document.place, room) { [self] images in
                defer { withExtendedLifetime(room) {} }
                guard let images else { return then(.failure(.busy)) }
                let place = document.place
                let rewritten = SharedBytes(read.rewritten(with: images) { url, _ in place.address(of: url) })
                held.withLock { $0.insert(rewritten, for: name, weight: rewritten.count + 512) }
                then(.success(rewritten))
            }
        }
    }

    // MARK: - Images that become a part of a document

    /// Reads the SVG files that become a part of the document, with their URLs rewritten. Leaves out long files. `then`
    /// gets `nil` when there is no room for the files now.
    private func readImages(
        of document: ArchivedDocument, _ index: CaptureIndex, _ place: ReplayPlace, _ room: SharedAllowance.Part,
        then: @escaping @Sendable ([String: [UInt8]]?) -> Void
    ) {
        var files: [(url: WebURL, digest: [UInt8], type: String?)] = []
        var total: Int64 = 0
        for url in document.imageURLs {
            guard let answer = index.record(for: url)?.answer, answer.status == 200, let digest = answer.digest,
                answer.length <= Self.imageLimit, total + answer.length <= Self.imagesLimit,
                MediaType(answer.fields[.contentType]).isXML
            else { continue }
            total += answer.length
            files.append((url, digest, answer.fields[.contentType]))
        }
        guard room.take(4 * Int(total)) else { return then(nil) }
        read(files[...], into: [:], place, then: then)
    }

    private func read(
        _ files: ArraySlice<(url: WebURL, digest: [UInt8], type: String?)>, into images: [String: [UInt8]],
        _ place: ReplayPlace, then: @escaping @Sendable ([String: [UInt8]]) -> Void
    ) {
        guard let file = files.first else { return then(images) }
        let rest = files.dropFirst()
        cache.find(CacheKey.resource(digest: file.digest).text) { found in
            PageViewer.queue.async { [self] in
                var images = images
                if let stored = (try? found.get()) ?? nil, let bytes = try? stored.body.bytes() {
                    let image = ArchivedDocument([UInt8](bytes), .xml, contentType: file.type, url: file.url)
                    // An element of the file itself stays one after the file has become a part of the document.
                    images[file.url.text] = image.rewritten { url, _ in
                        url.text == file.url.text && !url.fragment.isEmpty ? "" : place.address(of: url)
                    }
                }
                read(rest, into: images, place, then: then)
            }
        }
    }
}
