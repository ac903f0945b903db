import DiskCache
import HTTPCaching
import HTTPTypes
import JSONEdits
import Outbox
import Primitives

/// The version of a resource that the cache has, as the base of a change.
struct CachedVersion: Sendable {
    let entry: Entry
    let body: StoredBody

    /// Whether a tag is the strong tag of Larder's answers, or the origin's tag.
    func has(_ etag: String) -> Bool {
        etag == SelectedRepresentation.etag(entry.digest.prefix(16)).text || etag == entry.etag
    }

    /// Reads the body, which may wait for the disk. A body of more than `limit` bytes counts by its digest only.
    func version(limit: Int) throws(DiskCacheError) -> ResourceVersion? {
        guard let digest = BodyDigest(bytes: entry.digest) else { return nil }
        var body: [UInt8]?
        if self.body.length <= Int64(limit) { body = try self.body.bytes().withUnsafeBytes(Array.init) }
        return ResourceVersion(body: body, digest: digest, validator: validator(digest, body))
    }

    /// The entry does not have the `Date` of the answer. The end of the download stands for it, less a minute, because
    /// clocks differ. Without a sound tag, a GET looks before the change is sent.
    private func validator(_ digest: BodyDigest, _ body: [UInt8]?) -> Validator? {
        let received = (entry.downloadEndDate ?? entry.createdDate) - .seconds(60)
        let modified = entry.lastModified.flatMap { Timestamp(httpDate: $0, now: received) }
        let mark = ReadMark(etag: entry.etag, lastModified: modified, date: nil, digest: digest, received: received)
        if case .sound(let validator) = Soundness(of: mark, body: body) { return validator }
        return nil
    }
}

extension ChangeRequest {
    /// Makes the draft of a change. `shown` has the versions that the author may have seen, if the request does not
    /// state its base.
    ///
    /// - Throws: ``OutboxFailure/noBase(_:)``, ``OutboxFailure/baseNotJSON(_:)`` and
    ///   ``OutboxFailure/patch(_:pointer:)``. Other faults of the draft are found when it is stored.
    func draft(
        namespace: String, caller: String, shown: ShownVersions, limits: OutboxLimits
    ) throws(OutboxFailure) -> ChangeDraft {
        let (base, baseType) = try resolvedBase(shown, limit: limits.changeBytes)
        let (edit, ours) = try edit(on: base, limit: limits.changeBytes)
        var draft = ChangeDraft(
            namespace: namespace, caller: caller, target: target, method: method ?? (ours == nil ? "DELETE" : "PUT"),
            edit: edit, ours: ours, base: base)
        draft.lane = lane
        draft.fields = fields.map { ChangeField($0.name.rawName, $0.value) }
        draft.baseType = baseType
        switch content {
        case .body(_, let type?) where !fields.contains(.contentType):
            draft.fields.append(ChangeField("Content-Type", type))
        case .none, .body: break
        // The sender adds the type of the patch.
        case .mergePatch, .jsonPatch: draft.setContentType(draft.contentType)
        }
        draft.onConflict = onConflict
        draft.onUncertain = onUncertain
        draft.expires = expires
        draft.callerKey = callerKey(in: namespace)
        draft.credential = credential
        return draft
    }

    /// The base, and its media type as far as it is known.
    private func resolvedBase(
        _ shown: ShownVersions, limit: Int
    ) throws(OutboxFailure) -> (Outbox::Base, type: String?) {
        switch base {
        case .blind: return (.blind, nil)
        case .absent: return (.absent, nil)
        case .seen(let body, let etag):
            // The author's tag may be younger than the second in which the origin made it, so a GET looks first, unless
            // the tag is a digest of the body.
            var version = ResourceVersion(body: body, validator: nil)
            if let validator = etag.flatMap(Validator.init(strong:)), validator.isDigest(of: body, version.digest) {
                version.validator = validator
            }
            return (.version(version), nil)
        case .current where method == "POST": return (.blind, nil)
        case .current, .tagged:
            var tag: String?
            if case .tagged(let etag) = base { tag = etag }
            let version: (ResourceVersion, type: String?)?
            do {
                version = try shown.version(tagged: tag, limit: limit)
            } catch {
                // The entry was removed, or its file is damaged.
                version = nil
            }
            if let (version, type) = version { return (.version(version), type) }
            if case .tagged = base { throw .noBase(.otherVersion) }
            if case .none = content { throw .noBase(.noVersion) }
            return (.absent, nil)
        }
    }

    private func edit(on base: Outbox::Base, limit: Int) throws(OutboxFailure) -> (Edit, ours: [UInt8]?) {
        switch content {
        case .none: return (.delete, nil)
        case .body(let body, _): return (method == "POST" ? .post : .replace, body)
        case .mergePatch(let json):
            let patch: MergePatch
            do {
                patch = try MergePatch(json)
            } catch {
                throw .patch(error.reason, pointer: error.pointer.description)
            }
            return (.mergePatch(json.utf8), patch.applied(to: try document(base, limit: limit)).utf8)
        case .jsonPatch(let json):
            guard let document = try document(base, limit: limit) else { throw .noBase(.noVersion) }
            let patch: JSONPatch
            do {
                patch = try JSONPatch(json)
            } catch {
                throw .patch(error.reason, pointer: error.pointer.description)
            }
            do {
                return (.jsonPatch(json.utf8), try patch.applied(to: document).utf8)
            } catch {
                throw .patch(error.description, pointer: error.operation.map { "/\($0)" } ?? "")
            }
        }
    }

    /// The document that a patch applies to; `nil` when the author saw no resource.
    private func document(_ base: Outbox::Base, limit: Int) throws(OutboxFailure) -> JSON? {
        switch base {
        case .blind: throw .noBase(method == "POST" ? .postPatch : .blindPatch)
        case .absent: return nil
        case .version(let version):
            guard let body = version.body else { throw .noBase(.tooLong(limit: limit)) }
            do {
                return try JSON(parsing: body)
            } catch {
                throw .baseNotJSON("\(error)")
            }
        }
    }
}
