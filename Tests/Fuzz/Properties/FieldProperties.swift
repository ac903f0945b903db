import HTTPTypes
import Primitives

@testable import HTTPCaching

/// Field lines `Name: value`, which are the fields of both an answer and its request. A line without a field name is
/// checked as a value only.
enum FieldProperties {
    private static let now = Timestamp(seconds: 1_767_225_600)

    static func check(_ bytes: [UInt8]) throws(Violation) {
        let lines = bytes.lines.prefix(64)
        for line in lines { try checkValue(parts(line).value.text) }
        let fields = Self.fields(lines)
        try checkLists(fields)
        try checkForwarding(fields)
        try checkAnswer(fields)
        try checkRequest(fields)
    }

    /// The fields that `lines` state. Other properties use this function, too.
    static func fields(_ lines: some Sequence<ArraySlice<UInt8>>) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines {
            let (name, value) = parts(line)
            if let name { fields.append(HTTPField(name: name, lenientValue: value)) }
        }
        return fields
    }

    private static func parts(_ line: ArraySlice<UInt8>) -> (name: HTTPField.Name?, value: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = HTTPField.Name(line[..<colon].text) else {
            return (nil, line)
        }
        return (name, line[colon...].dropFirst().drop { $0 == 0x20 })
    }

    // MARK: - Single values

    private static func checkValue(_ text: String) throws(Violation) {
        try checkDirectives(CacheControl(text))
        try checkTag(text)
        try checkDate(text)
        let members = FieldScanner.listMembers(text)
        let joined = members.joined(separator: ", ")
        try demand(
            FieldScanner.listMembers(joined).map(ExactText.init) == members.map(ExactText.init),
            "joined members split into the same members", text)
        if let seconds = DeltaSeconds.parse(text) {
            try demand(seconds >= .zero && seconds <= DeltaSeconds.maximum, "seconds are within their limits", text)
        }
        try checkQualities(text)
        if let target = TargetURI("http://h/a/b?q")?.resolve(text) {
            try demand(
                target.scheme == "http" || target.scheme == "https", "the scheme of a target is http or https",
                target.text)
            let again = TargetURI(target.text)
            try demand(again?.text.isExactly(target.text) == true, "a target's text reads back unchanged", target.text)
        }
    }

    private static func checkDirectives(_ control: CacheControl) throws(Violation) {
        for directive in control.directives {
            try demand(isToken(directive.name), "a directive's name is a token", directive.name)
            try demand(
                directive.name == directive.name.lowercased(), "a directive's name is in lower case", directive.name)
            try demand(control.contains(directive.name), "a directive is found by its name", directive.name)
            if case .valid(let seconds)? = control.seconds(directive.name) {
                try demand(
                    seconds >= .zero && seconds <= DeltaSeconds.maximum, "a directive's seconds are within their limits"
                )
            }
        }
        let readable = control.directives.filter { $0.argument != .malformed }
        let text = readable.map(written).joined(separator: ", ")
        try demand(CacheControl(text).directives == readable, "written directives read back unchanged", text)
    }

    private static func written(_ directive: CacheControl.Directive) -> String {
        guard case .value(let value) = directive.argument else { return directive.name }
        return "\(directive.name)=\(quoted(value))"
    }

    private static func checkTag(_ text: String) throws(Violation) {
        guard let tag = EntityTag(text) else { return }
        try demand(EntityTag(tag.text)?.text.isExactly(tag.text) == true, "a tag's text reads back unchanged", text)
        try demand(tag.matches(tag, comparison: .weak), "a tag matches itself by weak comparison", text)
        try demand(
            tag.matches(tag, comparison: .strong) != tag.isWeak,
            "only a strong tag matches itself by strong comparison", text)
        try demand(EntityTag.anyMatches("*", tag, comparison: .strong), "* matches every tag", text)
        try demand(
            EntityTag.anyMatches("x, \(tag.text) , \"\"", tag, comparison: .weak), "a tag is found in a list", text)
    }

    private static func checkDate(_ text: String) throws(Violation) {
        guard let date = Timestamp(httpDate: text, now: now), date < .distantFuture else { return }
        try demand(Timestamp(httpDate: date.httpDate, now: now) == date, "a written date reads back unchanged", text)
        try demand(date.rfc3339.utf8.count == 24, "a date has the form of RFC 3339", date.rfc3339)
    }

    private static func checkQualities(_ text: String) throws(Violation) {
        for name in [HTTPField.Name.accept, .acceptEncoding, .acceptLanguage, .cookie, .userAgent] {
            let form = QualityList.normalised(name: name, lines: [text])
            try demand(
                QualityList.normalised(name: name, lines: [form]).isExactly(form),
                "a normal form does not change in a second normalisation", text)
        }
        guard let list = QualityList([text]) else { return }
        try demand(list.members.allSatisfy { (0...1000).contains($0.quality) }, "weights are from 0 to 1", text)
        let written = list.members.map(\.text).joined(separator: ",")
        let again = try demanded(QualityList([written]), "a written list can be read", written)
        try demand(members(again) == members(list), "a written list reads back unchanged", written)
        // The normal form keeps the members, so two values with the same normal form have the same meaning.
        let normal = QualityList([QualityList.normalised(name: .accept, lines: [text])])
        try demand(normal.map { Set(members($0)) } == Set(members(list)), "the normal form has the same members", text)
    }

    private static func members(_ list: QualityList) -> [ExactText] { list.members.map { ExactText($0.text) } }

    // MARK: - Sets of fields

    private static func checkLists(_ fields: HTTPFields) throws(Violation) {
        for groups in [CacheGroups(fields), CacheGroups(invalidatedBy: fields, method: .post)] {
            try demand(groups.names.count <= CacheGroups.maximumCount, "the number of groups is within its limit")
            try demand(Set(groups.names).count == groups.names.count, "no group is repeated", "\(groups.names)")
            try demand(
                groups.names.allSatisfy { (1...CacheGroups.maximumLength).contains($0.utf8.count) },
                "the length of a group's name is within its limits", "\(groups.names)")
        }
        for name in TargetedCacheControl.targets { _ = TargetedCacheControl.parse(fields, name: name) }
        if let selection = SelectingFields(vary: fields, request: fields) {
            try demand(selection.matches(fields), "a request selects its own answer", selection.text)
            try demand(
                selection.names == Set(selection.names).sorted() && selection.names.allSatisfy(isToken),
                "names are sorted tokens", selection.text)
            let again = SelectingFields(text: selection.text)
            try demand(again == selection, "a selection's text reads back unchanged", selection.text)
            try demand(
                again?.matches(fields) == true, "a selection read from its text matches its request", selection.text)
        }
    }

    private static func checkForwarding(_ fields: HTTPFields) throws(Violation) {
        let forwarded = fields.endToEnd()
        try demand(forwarded.endToEnd() == forwarded, "end-to-end fields do not change in a second filtering")
        var rest = Array(fields)[...]
        for field in forwarded {
            rest = rest.drop { $0 != field }
            try demand(rest.popFirst() != nil, "fields keep their order", field.name.rawName)
        }
        for name in ["connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-authorization"] {
            try demand(!forwarded.contains(HTTPField.Name(name)!), "hop-by-hop fields are removed")
        }
    }

    private static func checkAnswer(_ fields: HTTPFields) throws(Violation) {
        let answer = OriginAnswer(
            status: fields.contains(.contentRange) ? 206 : 200, fields: fields, requestedAt: now - .seconds(2),
            receivedAt: now)
        let freshness = answer.freshness
        try demand(
            freshness.lifetime >= .zero && freshness.lifetime <= DeltaSeconds.maximum,
            "a lifetime is within its limits",
            "\(freshness.lifetime)")
        try demand(
            freshness.ageAtReceipt >= .zero && freshness.ageAtReceipt <= DeltaSeconds.maximum,
            "an age is within its limits", "\(freshness.ageAtReceipt)")
        try demand(
            freshness.isFresh(at: now) == (freshness.remaining(at: now) > .zero),
            "a response is fresh while it has remaining time")
        try demand(
            freshness.staleWhileRevalidate >= .zero && freshness.staleIfError ?? .zero >= .zero,
            "no allowance is negative")
        try demand(
            !freshness.forbidsStale || (freshness.staleWhileRevalidate == .zero && freshness.staleIfError == .zero),
            "a response that forbids stale use allows no stale time")
        let request = CacheRequest(method: .get, url: "http://h/", fields: fields)
        let decision = StoragePolicy.decide(request, answer)
        if case .store(let stored) = decision {
            let control = TargetedCacheControl.effective(fields).control
            try demand(
                !control.noStore || control.contains("must-understand"), "a response with no-store is not stored")
            try demand(!control.contains("private"), "a private response is not stored")
            try StoredProperties.checkText(stored)
            let reuse = ReusePolicy.decide(request, stored, now: now)
            try demand(
                reuse != .fetch(.varyMiss) && reuse != .fetch(.uriMiss), "a request finds the response stored for it",
                "\(reuse)")
        }
    }

    private static func checkRequest(_ fields: HTTPFields) throws(Violation) {
        let tag = EntityTag(strong: "a")
        let current = SelectedRepresentation(etag: tag, lastModified: now - .seconds(100))
        for method in [HTTPRequest.Method.get, .head, .put] {
            let conditions = ConditionalRequest(fields, method: method, now: now)
            let outcome = conditions.evaluate(current)
            try demand(outcome != .notModified || method != .put, "a PUT is never answered with a 304", "\(outcome)")
            try demand(conditions.evaluate(nil) != .notModified, "a missing representation gives no 304")
            _ = conditions.allowsRange(of: current, now: now)
        }
        let stored = ServedResponse.Stored(status: 200, fields: fields, length: 10)
        for method in [HTTPRequest.Method.get, .head] {
            guard let served = ServedResponse(to: method, fields, from: stored, age: .zero, now: now, boundary: "b")
            else { continue }
            try demand([200, 206, 304, 412, 416].contains(served.status), "the status is 200, 206, 304, 412 or 416")
            if case .range(let range) = served.body {
                try demand(!range.isEmpty && range.upperBound <= 10, "a part is within the whole", "\(range)")
            }
        }
    }

    // MARK: - Words

    private static func isToken(_ text: String) -> Bool {
        var scanner = FieldScanner(text)
        return scanner.token() != nil && scanner.isAtEnd
    }

    private static func quoted(_ text: String) -> String {
        var output: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { output.append(UInt8(ascii: "\\")) }
            output.append(byte)
        }
        return (output + [UInt8(ascii: "\"")]).text
    }
}
