/// The files of the dashboard. They lie in the folder `Page` and are part of the executable.
enum DashboardFiles {
    static let page = file("index.html", PackageResources.index_html)
    /// By name.
    static let parts = Dictionary(uniqueKeysWithValues: contents.map { ($0.name, file($0.name, $0.bytes)) })

    /// Scripts and styles come from these files only, requests go to this server only, and no other page may frame the
    /// dashboard. Images may be made from bytes in the page's memory (`blob:`), for previews. Browsers that support
    /// trusted types also refuse to turn text into markup or scripts.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    private static func file(_ name: String, _ bytes: [UInt8]) -> PublicFile {
        let type =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "svg": "image/svg+xml"
            default: "text/javascript; charset=utf-8"
            }
        return PublicFile(bytes, type: type, policy: policy)
    }

    private static let contents: [(name: String, bytes: [UInt8])] = [
        ("activity.js", PackageResources.activity_js),
        ("api.js", PackageResources.api_js),
        ("base.css", PackageResources.base_css),
        ("chart.js", PackageResources.chart_js),
        ("clock.js", PackageResources.clock_js),
        ("dialog.js", PackageResources.dialog_js),
        ("dom.js", PackageResources.dom_js),
        ("download-form.js", PackageResources.download_form_js),
        ("download-list.js", PackageResources.download_list_js),
        ("downloads-model.js", PackageResources.downloads_model_js),
        ("downloads.css", PackageResources.downloads_css),
        ("downloads.js", PackageResources.downloads_js),
        ("entries.css", PackageResources.entries_css),
        ("entries.js", PackageResources.entries_js),
        ("entry-actions.js", PackageResources.entry_actions_js),
        ("entry-table.js", PackageResources.entry_table_js),
        ("entry.css", PackageResources.entry_css),
        ("entry.js", PackageResources.entry_js),
        ("events.js", PackageResources.events_js),
        ("failure.js", PackageResources.failure_js),
        ("fields.css", PackageResources.fields_css),
        ("filter-form.js", PackageResources.filter_form_js),
        ("format.js", PackageResources.format_js),
        ("frame.css", PackageResources.frame_css),
        ("freshness.js", PackageResources.freshness_js),
        ("icon.svg", PackageResources.icon_svg),
        ("json-text.js", PackageResources.json_text_js),
        ("main.js", PackageResources.main_js),
        ("masthead.js", PackageResources.masthead_js),
        ("name.js", PackageResources.name_js),
        ("namespaces.js", PackageResources.namespaces_js),
        ("notices.js", PackageResources.notices_js),
        ("overview.css", PackageResources.overview_css),
        ("overview.js", PackageResources.overview_js),
        ("parts.css", PackageResources.parts_css),
        ("poll.js", PackageResources.poll_js),
        ("preview.js", PackageResources.preview_js),
        ("purge.js", PackageResources.purge_js),
        ("readings.js", PackageResources.readings_js),
        ("router.js", PackageResources.router_js),
        ("theme.js", PackageResources.theme_js),
        ("ttl-field.js", PackageResources.ttl_field_js),
        ("vitals.js", PackageResources.vitals_js),
    ]
}
