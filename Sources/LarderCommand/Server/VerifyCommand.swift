import ArgumentParser
import DiskCache
import Foundation
import Larder

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check every body against the index.",
        discussion: """
            Locks the directory, so stop the server first. Prints one line for each finding and removes nothing; \
            writes that a crash interrupted are first completed or undone, as at a server start. \
            Exit status: 0 clean, 1 findings, 2 the check failed, 3 the directory is in use.
            """)

    @Option(
        "\(Setting.directory.help) [\(Setting.directory.variable); default: \(Setting.directory.defaultText)]",
        value: "path", name: .customLong("directory"))
    var directory: String?

    func run() throws {
        let configuration = try Configuration.resolve(
            flags: directory.map { [Setting.directory.name: [$0]] } ?? [:])
        let findings: Int
        do {
            findings = try verify(configuration.directory)
        } catch DiskCacheError.inUse(let directory) {
            FileHandle.standardError.write(Data("\(directory) is in use; stop the server first\n".utf8))
            throw ExitCode(3)
        } catch let error where error is DiskCacheError || error is NamespaceError {
            FileHandle.standardError.write(Data("the cache cannot be checked: \(error)\n".utf8))
            throw ExitCode(2)
        }
        if findings > 0 { throw ExitCode(1) }
    }

    private func verify(_ path: String) throws -> Int {
        guard try CacheDirectory.isCache(at: path) else {
            throw ValidationError("\(path) contains no cache; name the cache directory with --directory")
        }
        let directory = try CacheDirectory(path: path)
        var findings = 0
        var bodies = 0
        for place in try NamespaceTable.places(in: directory) {
            let namespace = place.namespace
            var configuration = CacheConfiguration()
            configuration.namespace = namespace
            configuration.generation = place.generation
            // A check must not evict entries or set the index aside.
            configuration.diskLimit = 1 << 60
            configuration.diskReserve = .bytes(0)
            configuration.setsAsideUnreadableIndex = false
            let cache: DiskCache
            do {
                cache = try DiskCache(in: directory, configuration: configuration)
            } catch {
                // A file without read access is no finding, because its content is unknown.
                if error.isAccess { throw error }
                findings += 1
                print("\(namespace): \(error)")
                continue
            }
            bodies += try cache.verifyAll { finding in
                findings += 1
                print("\(namespace): \(finding)")
            }
            cache.close()
        }
        print("\(bodies) bodies checked, \(findings == 0 ? "no findings" : "\(findings) findings")")
        return findings
    }
}

extension DiskCacheError {
    /// Whether the file system refused access. Other errors concern the content of a file.
    fileprivate var isAccess: Bool {
        switch self {
        case .fileSystem: true
        // SQLite's PERM, READONLY, IOERR and CANTOPEN, in the low byte (<https://sqlite.org/rescode.html>).
        case .index(let code, _): [3, 8, 10, 14].contains(code & 0xff)
        default: false
        }
    }
}
