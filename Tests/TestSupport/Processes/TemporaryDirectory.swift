import Foundation

/// A new, empty directory that is removed with its content when this object is released.
package final class TemporaryDirectory: Sendable {
    /// The absolute path, without a slash at the end.
    package let path: String

    /// Makes the directory under `$TMPDIR`, else `/tmp`. Throws ``SystemError`` when that is not possible.
    package init(_ prefix: String = "larder-test") throws {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/\(prefix).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        remove()
    }

    /// The path of `name` in the directory; `name` may contain slashes.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path. Throws when that is not possible.
    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let path = path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Writes a text file and returns its path. Throws when that is not possible.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    /// The bytes of the file `name`. Throws when it cannot be read.
    package func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    /// Removes the directory now.
    package func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
