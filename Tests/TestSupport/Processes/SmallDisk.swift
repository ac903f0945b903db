import Foundation

/// A file system of a few megabytes in memory, unmounted when this object is released.
package final class SmallDisk: Sendable {
    /// The mount point.
    package let mount: TemporaryDirectory

    /// Mounts the file system; `nil` when this machine does not allow that.
    ///
    /// - Parameter size: the size as mount(8) takes it, for example `64m`.
    package init?(size: String) throws {
        mount = try TemporaryDirectory("larder-full")
        guard Self.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", mount.path) else { return nil }
    }

    deinit {
        // Unmounts lazily, because a failed test may have left files open.
        _ = Self.run("umount", "-l", mount.path)
    }

    /// Takes all free space except `rest` bytes, as another program would, with the file `filler`.
    package func fill(leaving rest: Int = 0) throws {
        // Without `O_CLOEXEC`, a program that another test starts at this moment could inherit the file, and keep its
        // space taken.
        let file = open(mount.path("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError("open") }
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
        ftruncate(file, lseek(file, 0, SEEK_END) - off_t(rest))
    }

    /// Resizes the file system; returns whether that succeeded.
    package func resize(to size: String) -> Bool {
        Self.run("mount", "-o", "remount,size=\(size)", mount.path)
    }

    /// Makes the file system read-only or writable; returns whether that succeeded.
    package func setReadOnly(_ isReadOnly: Bool) -> Bool {
        Self.run("mount", "-o", "remount,\(isReadOnly ? "ro" : "rw")", mount.path)
    }

    /// Runs a short command; returns whether it succeeded.
    private static func run(_ command: String, _ arguments: String...) -> Bool {
        (try? ChildProcess.run(command, arguments))?.exit == .status(0)
    }
}
