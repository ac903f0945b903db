import Foundation
import Primitives
import Testing

@testable import LarderCommand

@Suite("The output of log lines")
struct LineOutputTests {
    /// Both ends of a pipe.
    private final class Pipe {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            close(writing)
        }

        /// Reads all text in the pipe.
        func drain() -> String {
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            var polled = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 0) == 1 else { return "" }
            return String(decoding: bytes[..<max(0, read(reading, &bytes, bytes.count))], as: UTF8.self)
        }

        /// Fills the pipe, and then reads `pages` times `PIPE_BUF` bytes, so that as many bytes have room.
        func fill(leaving pages: Int) {
            var page = [UInt8](repeating: 0x20, count: Int(PIPE_BUF))
            _ = fcntl(writing, F_SETFL, O_NONBLOCK)
            while write(writing, page, page.count) > 0 {}
            _ = fcntl(writing, F_SETFL, 0)
            for _ in 0..<pages { _ = read(reading, &page, page.count) }
        }
    }

    @Test("Lines are dropped while no program reads the pipe; then their number is written before the next line")
    func stalled() throws {
        let pipe = try Pipe()
        let output = LineOutput(pipe.writing, patience: .milliseconds(10))
        func write(_ line: String) { output.write(line) { "lost \($0)\n" } }
        write("first\n")
        #expect(pipe.drain() == "first\n")
        pipe.fill(leaving: 0)
        for number in 0..<3 { write("lost \(number)\n") }
        #expect(pipe.drain().allSatisfy { $0 == " " })
        write("read\n")
        write("again\n")
        #expect(pipe.drain() == "lost 3\nread\nagain\n")
    }

    @Test("While the pipe stays full, only the first line waits for the time limit")
    func patience() throws {
        let pipe = try Pipe()
        pipe.fill(leaving: 0)
        let output = LineOutput(pipe.writing, patience: .milliseconds(200))
        let start = ContinuousClock.now
        for _ in 0..<100 { output.write("line\n") { "\($0)\n" } }
        let time = ContinuousClock.now - start
        #expect(time >= .milliseconds(200) && time < .seconds(10), "\(time)")
    }

    @Test("A line that was only partly written is ended before the next line begins")
    func broken() throws {
        let pipe = try Pipe()
        let page = Int(PIPE_BUF)
        pipe.fill(leaving: 1)
        let output = LineOutput(pipe.writing, patience: .milliseconds(10))
        output.write(String(repeating: "x", count: 3 * page) + "\n") { "lost \($0)\n" }
        #expect(pipe.drain().hasSuffix(" " + String(repeating: "x", count: page)))
        output.write("next\n") { "lost \($0)\n" }
        #expect(pipe.drain() == "\nlost 1\nnext\n")
    }

    @Test("A line that is longer than an atomic write to a pipe is written whole")
    func long() throws {
        let pipe = try Pipe()
        let line = String(repeating: "y", count: 10_000) + "\n"
        LineOutput(pipe.writing).write(line) { "\($0)" }
        #expect(pipe.drain() == line)
    }

    @Test("An unread socket does not block the writer, and stays in blocking mode")
    func socket() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let spaces = [UInt8](repeating: 0x20, count: 4096)
        while send(ends[1], spaces, spaces.count, Int32(MSG_DONTWAIT)) > 0 {}
        let output = LineOutput(ends[1], patience: .milliseconds(10))
        for _ in 0..<2 { output.write("line\n") { "lost \($0)\n" } }
        var bytes = [UInt8](repeating: 0, count: 4096)
        while recv(ends[0], &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        output.write("next\n") { "lost \($0)\n" }
        let count = recv(ends[0], &bytes, bytes.count, 0)
        #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == "lost 2\nnext\n")
        #expect(fcntl(ends[1], F_GETFL) & O_NONBLOCK == 0)
    }

    @Test(
        "If the write of a line fails with an error, the line is dropped without a wait", arguments: [nil, "/dev/full"])
    func failing(path: String?) {
        let descriptor = path.map { open($0, O_WRONLY | O_CLOEXEC) } ?? -1
        defer { if descriptor >= 0 { close(descriptor) } }
        let start = ContinuousClock.now
        LineOutput(descriptor, patience: .seconds(60)).write("line\n") { "\($0)\n" }
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
