import Foundation

/// A small real FTP server on 127.0.0.1 (RFC 959, RFC 2428, RFC 3659). It serves files in passive mode only, and
/// records the commands that it receives.
package final class ScriptedFTPOrigin: Sendable {
    /// The ways in which the server misbehaves.
    package struct Behaviour: Sendable {
        /// Whether `EPSV` works; `true` by default. Without it, clients use `PASV`.
        package var offersExtendedPassive = true
        /// The address that `PASV` announces: 127.0.0.1 by default. A hostile server names another machine.
        package var passiveAddress = "127.0.0.1"
        /// The port that `EPSV` and `PASV` announce; `nil`, the default, for the port at which the server listens for
        /// data.
        package var passivePort: UInt16?
        /// The number of bytes of a file after which the data connection is closed; `nil`, the default, for never.
        package var cutAfter: Int?
        /// Whether `SIZE` returns the length of a file; `true` by default. Without it, the length is unknown.
        package var tellsSize = true
        /// Whether `QUIT` is answered; `true` by default. Without the answer, the control connection stays open.
        package var answersQuit = true

        /// A server that does not misbehave.
        package init() {}
    }

    private let commandLog = Recorder<String>()
    private let listener: Listener

    /// Starts the server on a free port with the files, by absolute path. Throws ``SystemError`` when it cannot listen.
    package init(files: [String: [UInt8]], behaviour: Behaviour = Behaviour()) throws {
        let commandLog = commandLog
        listener = try Listener { stream, _ in
            let session = Session(control: stream, files: files, behaviour: behaviour)
            try? session.run { line in commandLog.append(line) }
        }
    }

    deinit {
        listener.stop()
    }

    /// The port of control connections.
    package var port: UInt16 { listener.port }

    /// An absolute URL of a file; `path` starts with a slash.
    package func url(_ path: String) -> String { "ftp://127.0.0.1:\(port)\(path)" }

    /// The received commands, in order.
    package var commands: [String] { commandLog.elements }

    /// The number of control connections accepted in all.
    package var connectionCount: Int { listener.acceptedCount }

    /// Stops listening and ends every connection.
    package func stop() { listener.stop() }
}

/// A control connection, which is used on its own thread only.
private final class Session {
    private let control: SocketStream
    private let files: [String: [UInt8]]
    private let behaviour: ScriptedFTPOrigin.Behaviour
    private var directory = "/"
    private var dataSocket: Int32?
    private var restart = 0

    init(control: SocketStream, files: [String: [UInt8]], behaviour: ScriptedFTPOrigin.Behaviour) {
        self.control = control
        self.files = files
        self.behaviour = behaviour
    }

    deinit {
        if let dataSocket { close(dataSocket) }
    }

    func run(log: (String) -> Void) throws {
        try reply("220 ready")
        while let bytes = try control.readLine() {
            let line = String(decoding: bytes, as: UTF8.self)
            log(line)
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            let argument = words.count > 1 ? words[1] : ""
            guard try answer(words.first?.uppercased() ?? "", argument) else { return }
        }
    }

    private func answer(_ command: String, _ argument: String) throws -> Bool {
        switch command {
        case "USER": try reply("331 password?")
        case "PASS": try reply("230 logged in")
        case "PWD": try reply("257 \"\(directory)\"")
        case "CWD":
            let target = absolute(argument)
            let exists = files.keys.contains { $0.hasPrefix(target == "/" ? "/" : target + "/") }
            if exists { directory = target }
            try reply(exists ? "250 changed" : "550 no such directory")
        case "TYPE": try reply("200 as you like")
        case "EPSV" where behaviour.offersExtendedPassive:
            let port = try openDataPort()
            try reply("229 passive (|||\(behaviour.passivePort ?? port)|)")
        case "PASV":
            let own = try openDataPort()
            let port = behaviour.passivePort ?? own
            let address = behaviour.passiveAddress.split(separator: ".").joined(separator: ",")
            try reply("227 passive (\(address),\(port >> 8),\(port & 0xff))")
        case "SIZE" where behaviour.tellsSize: try replyAboutFile(argument) { "213 \($0.count)" }
        case "MDTM": try replyAboutFile(argument) { _ in "213 20260101000000" }
        case "REST":
            restart = Int(argument) ?? 0
            try reply("350 from \(restart)")
        case "RETR": try retrieve(argument)
        case "QUIT" where !behaviour.answersQuit: break
        case "QUIT":
            try reply("221 bye")
            return false
        default: try reply("502 \(command) is not known")
        }
        return true
    }

    private func retrieve(_ name: String) throws {
        guard let bytes = files[absolute(name)] else { return try reply("550 no such file") }
        guard let listening = dataSocket else { return try reply("425 no data connection") }
        dataSocket = nil
        defer { close(listening) }
        try reply("150 here it comes")
        let accepted = accept(listening, nil, nil)
        guard accepted >= 0 else { return try reply("425 nobody came") }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        let data = SocketStream(descriptor: accepted)
        let rest = bytes.dropFirst(restart)
        restart = 0
        if let cut = behaviour.cutAfter, cut < rest.count {
            try data.send(rest.prefix(cut))
            data.close()
            try reply("426 connection lost")
        } else {
            try data.send(rest)
            data.close()
            try reply("226 done")
        }
    }

    private func replyAboutFile(_ name: String, _ text: ([UInt8]) -> String) throws {
        try reply(files[absolute(name)].map(text) ?? "550 no such file")
    }

    private func openDataPort() throws -> UInt16 {
        if let dataSocket { close(dataSocket) }
        let (descriptor, port) = try Listener.listen(address: "127.0.0.1", backlog: 4)
        dataSocket = descriptor
        return port
    }

    private func absolute(_ name: String) -> String {
        if name.hasPrefix("/") { return name }
        return directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    private func reply(_ text: String) throws {
        try control.send(text + "\r\n")
    }
}
