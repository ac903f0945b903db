import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite("A body that is being received into a file")
struct GrowingBodyTests {
    private let folder: TemporaryDirectory
    private let text = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func open(_ name: String) throws -> FileDescriptor {
        try FileDescriptor(opening: folder.path + "/" + name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    }

    private func append(_ bytes: ArraySlice<UInt8>, to body: GrowingBody) throws {
        try bytes.withUnsafeBytes { try body.append($0) }
    }

    /// Reads the whole body, piece by piece.
    private func read(_ body: GrowingBody) throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = try body.read(at: Int64(all.count), upTo: 100_000)
            if piece.count == 0 { return all }
            all += piece.withUnsafeBytes(Array.init)
        }
    }

    @Test(
        "A body that is being received can be read up to its last received byte, with and without a write buffer",
        arguments: [1000, 16_384, 65_536, 262_144, 300_001], [true, false])
    func readAlong(step: Int, hasBuffer: Bool) throws {
        let buffers = WriteBuffers()
        // Takes all buffers when the body must not get one.
        let taken = hasBuffer ? [] : (0..<WriteBuffers.limit).map { _ in buffers.take() }
        let body = GrowingBody(buffers: buffers, path: "body")
        try append(text[..<500], to: body)
        let file = try open("body")
        try body.move(to: file)
        var count = 500
        while count < text.count {
            let end = min(count + step, text.count)
            try append(text[count..<end], to: body)
            count = end
            #expect(body.length == Int64(count))
            if count % 7 == 0 || count == text.count { #expect(try read(body) == Array(text[..<count])) }
        }
        try body.seal()
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/body")) == Data(text))
        #expect(try read(body) == text)
        #expect(taken.count == (hasBuffer ? 0 : WriteBuffers.limit))
    }

    @Test("A body that is being received is written to its file in pieces as large as the write buffer")
    func largePieces() throws {
        let body = GrowingBody(buffers: WriteBuffers(), path: "body")
        let file = try open("body")
        try body.move(to: file)
        for start in stride(from: 0, to: 600_000, by: 1000) { try append(text[start..<start + 1000], to: body) }
        #expect(file.status()?.identity.size == Int64(2 * WriteBuffers.capacity))
    }

    @Test("When the disk is full, a body cannot be completed, and its received bytes stay readable")
    func fullDisk() throws {
        let body = GrowingBody(buffers: WriteBuffers(), path: "/dev/full")
        try body.move(to: FileDescriptor(opening: "/dev/full", O_RDWR))
        try append(text[..<1000], to: body)
        #expect(throws: DiskCacheError.noSpace) { try body.seal() }
        #expect(throws: DiskCacheError.noSpace) { try append(text[1000..<600_000], to: body) }
        let come = try read(body)
        #expect(come.count >= 1000)
        #expect(come == Array(text[..<come.count]))
    }

    @Test("A body that is being received holds a write buffer only from its first byte until its end")
    func buffersGoBack() throws {
        let buffers = WriteBuffers()
        for number in 0..<2 * WriteBuffers.limit {
            let body = GrowingBody(buffers: buffers, path: "body")
            try body.move(to: try open("body\(number)"))
            try append(text[..<1000], to: body)
            try body.seal()
        }
        #expect(buffers.trim() == WriteBuffers.capacity)
        let waiting = try (0..<WriteBuffers.limit).map { number in
            let body = GrowingBody(buffers: buffers, path: "body")
            try body.move(to: try open("waiting\(number)"))
            return body
        }
        #expect(buffers.take() != nil)
        #expect(waiting.count == WriteBuffers.limit)
    }
}
