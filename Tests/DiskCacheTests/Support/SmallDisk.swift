import Foundation
import TestSupport

/// A file system of a few megabytes in memory, unmounted when this object goes.
final class SmallDisk {
    let mount: TemporaryDirectory

    /// `nil` when this machine does not let us.
    init?(size: String) throws {
        mount = try TemporaryDirectory("larder-full")
        guard Self.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", mount.path) else { return nil }
    }

    deinit {
        // Lazily, since a test that failed may have left files open.
        _ = Self.run("umount", "-l", mount.path)
    }

    /// Takes all the room that is left but for `rest` bytes, as another program would.
    func fill(leaving rest: Int = 0) throws {
        // A program that another test starts meanwhile must not keep it open, and its room taken.
        let file = open(mount.path("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
        ftruncate(file, lseek(file, 0, SEEK_END) - rest)
    }

    func resize(to size: String) -> Bool {
        Self.run("mount", "-o", "remount,size=\(size)", mount.path)
    }

    /// Runs a command, which is short; whether it succeeded.
    private static func run(_ command: String, _ arguments: String...) -> Bool {
        (try? ChildProcess.run(command, arguments))?.exit == .status(0)
    }
}
