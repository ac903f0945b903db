import Foundation
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("Exchanges that wait")
struct SuspensionTests {
    @Test("Other threads can answer 1,000 waiting exchanges in any order")
    func thousand() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(1000, (Int(min(limit.rlim_cur, 1 << 20)) - 200) / 3)
        let waiting = Mailbox<Exchange>()
        try await withDaemon(Handler { _ in .accept(.none) { waiting.put($0) } }) { daemon in
            let clients = try (0..<count).map { _ in try RawClient(port: daemon.port) }
            for (index, client) in clients.enumerated() { try client.request("GET", "/\(index)") }
            let exchanges = try waiting.wait(for: count)
            #expect(daemon.exchangesInFlight == count)
            for part in 0..<4 {
                Thread {
                    for exchange in exchanges.reversed().enumerated() where exchange.offset % 4 == part {
                        exchange.element.respond(Response(text: exchange.element.request.path))
                    }
                }.start()
            }
            for (index, client) in clients.enumerated() { #expect(try client.answer().text == "/\(index)") }
            try pollBlocking("no exchange") { daemon.exchangesInFlight == 0 }
        }
    }

    @Test("An answer from another thread is sent, whether it comes before, while or after the handler returns")
    func race() async throws {
        let queue = DispatchQueue(label: "answers", attributes: .concurrent)
        let handler = Handler { _ in
            .accept(.none) { exchange in
                queue.async { exchange.respond(Response(text: exchange.request.path)) }
            }
        }
        try await withDaemon(handler) { daemon in
            let done = Mailbox<Int>()
            for _ in 0..<8 {
                Thread {
                    var right = 0
                    if let client = try? RawClient(port: daemon.port) {
                        for index in 0..<500 {
                            guard (try? client.request("GET", "/\(index)")) != nil, let answer = try? client.answer()
                            else { break }
                            if answer.text == "/\(index)" { right += 1 }
                        }
                    }
                    done.put(right)
                }.start()
            }
            let right = try done.wait(for: 8)
            #expect(right == Array(repeating: 500, count: 8))
        }
    }

    @Test("When a client leaves while its exchange waits, the daemon closes the connection and serves other clients")
    func hangUp() async throws {
        let waiting = Mailbox<Exchange>()
        let left = Mailbox<String>()
        let handler = Handler { _ in
            .accept(.none) { exchange in
                exchange.onHangUp { left.put(exchange.request.path) }
                waiting.put(exchange)
            }
        }
        try await withDaemon(handler) { daemon in
            var first: RawClient? = try RawClient(port: daemon.port)
            let second = try RawClient(port: daemon.port)
            try first?.request("GET", "/first")
            _ = try waiting.wait(for: 1)
            try second.request("GET", "/second")
            let exchanges = try waiting.wait(for: 2)
            first = nil
            #expect(try left.wait() == ["/first"])
            try pollBlocking("one connection with one exchange") {
                daemon.connectionCount == 1 && daemon.exchangesInFlight == 1
            }
            // An answer that comes too late is dropped.
            exchanges[0].respond(Response(text: "late"))
            // A callback that is registered after the hang-up runs at once.
            exchanges[0].onHangUp { left.put("again") }
            #expect(try left.wait(for: 2) == ["/first", "again"])
            exchanges[1].respond(Response(text: "second"))
            #expect(try second.answer().text == "second")
        }
        #expect(left.count == 2)
    }

    @Test("A client that closes only its sending side counts as gone while its exchange waits")
    func halfClose() async throws {
        let left = Mailbox<Void>()
        let handler = Handler { _ in .accept(.none) { $0.onHangUp { left.put(()) } } }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            client.halfClose()
            _ = try left.wait()
            #expect(try client.isAtEnd())
        }
    }

    @Test("When clients hang up while the handler gives the answers, all connections and exchanges end")
    func hangUpRace() async throws {
        let ended = Mailbox<Void>()
        let queue = DispatchQueue(label: "answers", attributes: .concurrent)
        let handler = Handler { request in
            .accept(.none) { exchange in
                exchange.onHangUp { ended.put(()) }
                queue.async { exchange.respond(Response(text: "x")) }
            }
        }
        try await withDaemon(handler) { daemon in
            for _ in 0..<1000 {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", "/")
            }
            try pollBlocking("no connection and no exchange") {
                daemon.connectionCount == 0 && daemon.exchangesInFlight == 0
            }
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().text == "x")
        }
    }

    @Test("A daemon that stops waits for the running exchanges, and accepts no new client")
    func gracefulStop() async throws {
        let waiting = Mailbox<Exchange>()
        let daemon = Daemon(handler: Handler { _ in .accept(.none) { waiting.put($0) } })
        try daemon.start()
        let port = daemon.port
        let client = try await blocking { Connected(try RawClient(port: port)) }
        let exchange = try await blocking {
            try client.client.request("GET", "/")
            return try waiting.wait()[0]
        }
        async let stopped: Void = daemon.stop(deadline: .seconds(20))
        try await blocking {
            try pollBlocking("the port to be closed") { (try? RawClient(port: port)) == nil }
            exchange.respond(Response(text: "answered"))
            let answer = try client.client.answer()
            #expect(answer.text == "answered")
            #expect(answer["Connection"] == "close")
        }
        await stopped
        #expect(daemon.port == 0)
        #expect(daemon.connectionCount == 0)
    }

    @Test("At its deadline, a daemon that stops closes the connections of exchanges that still wait")
    func stopAtDeadline() async throws {
        let waiting = Mailbox<Exchange>()
        let left = Mailbox<Void>()
        let handler = Handler { _ in
            .accept(.none) { exchange in
                exchange.onHangUp { left.put(()) }
                waiting.put(exchange)
            }
        }
        let clients = Mailbox<Connected>()
        try await withDaemon(handler, deadline: .milliseconds(50)) { daemon in
            for _ in 0..<100 {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", "/")
                clients.put(Connected(client))
            }
            _ = try waiting.wait(for: 100)
        }
        #expect(left.count == 100)
        try await blocking {
            for connected in try clients.wait(for: 100) { #expect(try connected.client.isAtEnd()) }
            // The daemon is gone, but its exchanges can still be answered.
            for exchange in try waiting.wait(for: 100) { exchange.respond(Response(text: "late")) }
        }
    }

    @Test("A daemon that stops while exchanges wait or are being answered neither hangs nor crashes")
    func stopUnderLoad() async throws {
        let queue = DispatchQueue(label: "answers", attributes: .concurrent)
        for round in 0..<20 {
            let handler = Handler { request in
                .accept(.none) { exchange in
                    if request.path == "/later" {
                        queue.async { exchange.respond(Response(text: "later")) }
                    } else {
                        exchange.respond(Response(text: "now"))
                    }
                }
            }
            let threads = 8
            let done = Mailbox<Void>()
            let started = Mailbox<Void>()
            try await withDaemon(handler, deadline: .milliseconds(round % 2 == 0 ? 0 : 20)) { daemon in
                for index in 0..<threads {
                    Thread {
                        if let client = try? RawClient(port: daemon.port) {
                            for request in 0... {
                                guard (try? client.request("GET", index % 2 == 0 ? "/later" : "/now")) != nil,
                                    (try? client.answer()) != nil
                                else { break }
                                if request == 5 { started.put(()) }
                            }
                        }
                        done.put(())
                    }.start()
                }
                _ = try started.wait(for: threads)
            }
            _ = try await blocking { try done.wait(for: threads).count }
        }
    }
}
