import Foundation
import TestSupport

extension TemporaryDirectory {
    /// A copy of the outbox's files in another directory, as a kill at this moment would leave them.
    func copyOfFiles(in directory: String) throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try FileManager.default.copyItem(atPath: directory + "/" + name, toPath: copy.path(name))
        }
        return copy
    }

    static func mode(of path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
