import DiskCache
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The options of callers that join a download late")
struct LateWishesTests {
    /// Runs `body` with an origin that answers when the gate opens.
    private func withOrigin(_ body: (DownloadManager, DownloadRequest, Gate) async throws -> Void) async throws {
        let over = Gate("the end")
        let origin = try ScriptedOrigin { _, connection in
            try over.waitBlocking(limit: .seconds(60))
            try connection.respond(body: "late")
        }
        defer { origin.stop() }
        defer { over.open() }
        try await DownloadManager.withOne { downloads in
            try await body(downloads, DownloadRequest(url: try CanonicalURL(origin.url("/a"))), over)
        }
    }

    /// The request with a tag, a pin and a stale allowance.
    private func late(_ request: DownloadRequest) -> DownloadRequest {
        var late = request
        (late.tags, late.pinned, late.staleIfError) = (["b"], true, .seconds(3600))
        return late
    }

    private func expectWishes(_ entry: Entry?) {
        #expect(entry?.tags == ["b"] && entry?.pinned == true && entry?.staleAllowance == .seconds(3600))
    }

    @Test(
        "A queued refresh applies the options of a caller that joins it, even if the caller does not wait or hangs up",
        arguments: [false, true])
    func queued(hangsUp: Bool) async throws {
        try await withOrigin { downloads, request, over in
            var refresh = request
            refresh.refresh = true
            downloads.download(request) { _ in }
            try await poll("the download") { downloads.status(of: request.key.text) != nil }
            let (result, ended) = (Recorder<Entry>(), Gate("the refresh"))
            downloads.download(refresh) { answer in
                if case .success(let success) = answer { result.append(success.entry) }
                ended.open()
            }
            if hangsUp {
                downloads.leave(try #require(downloads.download(late(refresh)) { _ in }))
            } else {
                downloads.start(late(refresh)) { _ in }
            }
            over.open()
            try await ended.wait()
            expectWishes(result.elements.first)
        }
    }

    @Test(
        "A caller that joins while the entry is written adds its tag and staleIfError; the pin of either caller counts",
        arguments: [false, true])
    func storing(leaderPins: Bool) async throws {
        try await withOrigin { downloads, request, over in
            let (held, stored) = (Gate("the writer is held"), Gate("the writer goes on"))
            defer { stored.open() }
            var leader = request
            leader.tags = ["a"]
            leader.pinned = leaderPins ? true : nil
            let (result, ended) = (Recorder<Entry>(), Gate("the download"))
            downloads.download(leader) { answer in
                if case .success(let success) = answer { result.append(success.entry) }
                ended.open()
            }
            let fetch = try #require(downloads.state.withLock { $0.running[request.key.text]?.fetch })
            try await poll("the request") { fetch.state.withLock { $0.transfer } != nil }
            downloads.tools.cache.remove("other") { _ in
                held.open()
                try? stored.waitBlocking()
                return true
            } completion: { _ in
            }
            try await held.wait()
            over.open()
            try await poll("the storing") { fetch.state.withLock { $0.notes.unpublished.tags.isEmpty } }
            var late = late(request)
            late.tags = ["a", "b"]
            late.pinned = !leaderPins
            downloads.start(late) { _ in }
            stored.open()
            try await ended.wait()
            let entry = try #require(result.elements.first)
            #expect(entry.tags == ["a", "b"] && entry.pinned && entry.staleAllowance == .seconds(3600))
        }
    }

    @Test("The options of a caller that joined an abandoned download apply to the download that replaces it")
    func abandoned() async throws {
        try await withOrigin { downloads, request, over in
            downloads.download(request) { _ in }
            let former = try #require(downloads.state.withLock { $0.running[request.key.text]?.fetch })
            try await poll("the request") { former.state.withLock { $0.transfer } != nil }
            // The callers have left, and the transfer is about to end.
            former.state.withLock { ($0.machine.callers, $0.machine.isAbandoned) = ([:], true) }
            downloads.start(late(request)) { _ in }
            former.handle(.broke(.cancelled))
            over.open()
            try await poll("the entry") { downloads.status(of: request.key.text)?.state == .succeeded }
            expectWishes(try downloads.tools.cache.entry(for: request.key.text))
        }
    }
}
