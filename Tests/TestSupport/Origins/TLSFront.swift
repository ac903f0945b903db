import Foundation
import Primitives

/// An HTTPS server, with HTTP/2 and HTTP/1.1, in front of an HTTP origin: Debian's nginx as a process of its own, in a
/// temporary directory, with a certificate of a ``TestAuthority``. nginx ends with this object, and with the test
/// process.
package final class TLSFront: Sendable {
    /// The error when nginx does not start.
    package struct Failure: Error, CustomStringConvertible {
        /// The reason, with the output and the error log of nginx.
        package let description: String
    }

    /// The port of HTTPS.
    package let port: UInt16
    /// The authority that signed the server's certificate.
    package let authority: TestAuthority
    private let directory: TemporaryDirectory
    private let process: ChildProcess
    /// The writing end of the shell's pipe; `nil` once it is closed.
    private let lifeline: Locked<Int32?>

    /// Starts nginx in front of the HTTP server on `originPort`, and returns once nginx is ready to accept.
    ///
    /// - Parameters:
    ///   - http2: whether nginx offers HTTP/2; `true` by default.
    ///   - authority: the authority of the certificate; a new authority by default.
    ///
    /// Throws ``Failure`` when nginx does not start.
    package init(originPort: UInt16, http2: Bool = true, authority: TestAuthority? = nil) async throws {
        self.authority = try authority ?? TestAuthority()
        directory = try TemporaryDirectory("larder-nginx")
        // nginx takes a listening socket from its environment, as it does for an upgrade without interruption. So the
        // system chooses a free port, and no other process can take it meanwhile.
        let (listening, port) = try Listener.listen(address: "127.0.0.1", backlog: 511)
        defer { close(listening) }
        _ = fcntl(listening, F_SETFL, O_NONBLOCK)
        self.port = port
        try directory.write(
            Self.configuration(
                port: port, originPort: originPort, http2: http2, directory: directory.path, authority: self.authority),
            to: "nginx.conf")
        // The shell ends nginx when the pipe closes, by `stop` or by the end of the test process.
        var pipeEnds: [Int32] = [0, 0]
        guard pipe(&pipeEnds) == 0 else { throw SystemError("pipe") }
        for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipeEnds[0]) }
        lifeline = Locked(pipeEnds[1])
        let script = """
            PATH=$PATH:/usr/sbin nginx -p "$1" -c "$1/nginx.conf" -e "$1/error.log" 4<&- & child=$!
            read -r line <&4
            kill -TERM $child
            wait $child
            """
        do {
            process = try ChildProcess(
                "/bin/sh", ["-c", script, "sh", directory.path], environment: ["NGINX": "3;"],
                inheriting: [listening: 3, pipeEnds[0]: 4])
        } catch {
            close(pipeEnds[1])
            throw error
        }
        do {
            try await poll("nginx starting") { try self.isAnswering() }
        } catch {
            stop()
            let log = (try? directory.read("error.log")).map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw Failure(description: "\(error); \(process.output) \(log)")
        }
    }

    deinit {
        stop()
    }

    /// An absolute URL of the server; `path` starts with a slash.
    package func url(_ path: String = "/", host: String = "localhost") -> String {
        "https://\(host):\(port)\(path)"
    }

    /// Ends nginx and waits for its end.
    package func stop() {
        let lifeline = self.lifeline.withLock { lifeline in
            defer { lifeline = nil }
            return lifeline
        }
        if let lifeline { close(lifeline) }
        _ = process.waitBlocking()
    }

    /// nginx writes its process id once it is ready to accept.
    private func isAnswering() throws -> Bool {
        if let exit = process.hasExited { throw Failure(description: "nginx ended: \(exit)") }
        return access(directory.path("nginx.pid"), F_OK) == 0
    }

    private static func configuration(
        port: UInt16, originPort: UInt16, http2: Bool, directory: String, authority: TestAuthority
    ) -> String {
        """
        daemon off;
        worker_processes 1;
        pid \(directory)/nginx.pid;
        error_log \(directory)/error.log;
        \(getuid() == 0 ? "user root;" : "")
        events { worker_connections 2048; }
        http {
            access_log off;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            server {
                listen 127.0.0.1:\(port) ssl\(http2 ? " http2" : "");
                ssl_certificate \(authority.serverCertificateFile);
                ssl_certificate_key \(authority.serverKeyFile);
                http2_max_concurrent_streams 256;
                location / {
                    proxy_pass http://127.0.0.1:\(originPort);
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    proxy_set_header X-Front-Protocol $server_protocol;
                    proxy_set_header X-Front-Connection $connection;
                    proxy_set_header Host $http_host;
                    proxy_buffering off;
                }
            }
        }
        """
    }
}
