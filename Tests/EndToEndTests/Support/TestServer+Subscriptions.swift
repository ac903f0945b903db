import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

extension TestServer {
    /// `PUT /subscriptions/:name`, with no pause between two requests unless the definition says otherwise.
    func subscribe(
        _ name: String, _ definition: JSON, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        guard case .object(var members) = definition else { fatalError("a definition is an object") }
        if definition["minGap"] == nil { members.append(.init("minGap", 0)) }
        let reply = try await client.request(
            "PUT", "/subscriptions/\(name)", fields: [.contentType: "application/json"],
            body: JSON.object(members).utf8, sourceLocation: sourceLocation)
        #expect(reply.status == 201 || reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
    }

    /// Waits until the report of a subscription fulfils a condition. The clock stands still, but is looked at.
    @discardableResult
    func waitForReport(
        _ name: String, sourceLocation: SourceLocation = #_sourceLocation, until condition: (JSON) -> Bool
    ) async throws -> JSON {
        try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            try await get("/subscriptions/\(name)").json
        } until: { report in
            if condition(report) { return true }
            service.subscriptions.clockChanged()
            return false
        }
    }

    /// Waits for a generation after which no work is left.
    @discardableResult
    func waitForGeneration(
        _ generation: Int64, of name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        try await waitForReport(name, sourceLocation: sourceLocation) { report in
            (report["generation"]?.integerValue ?? 0) >= generation && report["refreshing"] == false
        }
    }

    /// Refreshes a subscription, and waits for the generation with the answers.
    @discardableResult
    func refresh(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSON {
        let before = try await get("/subscriptions/\(name)").json["generation"]?.integerValue ?? 0
        try await beginRefresh(name)
        return try await waitForGeneration(before + 1, of: name, sourceLocation: sourceLocation)
    }

    func beginRefresh(_ name: String) async throws {
        #expect(try await client.request("POST", "/subscriptions/\(name)/refresh").status == 202)
    }

    /// The URLs of a subscription's items, in their order.
    func items(of name: String) async throws -> [String] {
        try await get("/subscriptions/\(name)/items").json["items"]?.arrayValue?
            .compactMap { $0["url"]?.stringValue } ?? []
    }

    /// Turns the clock, and lets the outbox and the subscriptions look at it.
    func turn(_ time: Duration) {
        clock.advance(by: time)
        service.subscriptions.clockChanged()
        service.outbox.clockChanged()
    }

    /// `POST /outbox`; returns the path of the change.
    func change(_ json: JSON, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let reply = try await client.request(
            "POST", "/outbox", fields: [.contentType: "application/json"], body: json.utf8,
            sourceLocation: sourceLocation)
        #expect(reply.status == 202, "\(reply.text)", sourceLocation: sourceLocation)
        return try #require(reply["Location"], sourceLocation: sourceLocation)
    }

    /// Cancels a change as soon as it is not just being tried.
    func cancelChange(_ place: String) async throws {
        let reply = try await poll {
            try await client.request("DELETE", place)
        } until: {
            $0.status != 409
        }
        #expect(reply.status == 200, "\(reply.text)")
    }

    /// Waits until a change has a state. With `turning`, turns the clock so that no pause lasts.
    @discardableResult
    func waitForChange(
        _ place: String, _ state: String, turning: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        try await waitForChange(place, turning: turning, sourceLocation: sourceLocation) {
            $0["state"]?.stringValue == state
        }
    }

    /// Waits until a change fulfils a condition.
    @discardableResult
    func waitForChange(
        _ place: String, turning: Bool = false, sourceLocation: SourceLocation = #_sourceLocation,
        until condition: (JSON) -> Bool
    ) async throws -> JSON {
        try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            try await get(place).json
        } until: { change in
            if condition(change) { return true }
            if turning { turn(.seconds(1)) }
            return false
        }
    }
}

extension LarderProcess {
    /// Calls the API with a body in JSON.
    func call(_ method: String, _ path: String, _ json: JSON? = nil) async throws -> HTTPReply {
        try await client.request(
            method, path, fields: json == nil ? [:] : [.contentType: "application/json"], body: json?.utf8 ?? [])
    }

    /// Gets a resource of the API until it fulfils a condition.
    @discardableResult
    func wait(
        for path: String, sourceLocation: SourceLocation = #_sourceLocation, until condition: (JSON) -> Bool
    ) async throws -> JSON {
        try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            try await client.request("GET", path).json
        } until: {
            condition($0)
        }
    }
}
