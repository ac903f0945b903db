/// The files that are part of the executable. They are a module of their own, because their compilation takes a minute
/// and no other code changes them.
public enum EmbeddedFiles {
    /// The description of the API. The file in this folder is a link to the file at the top level.
    public static let openapi = PackageResources.openapi_yaml

    /// The page of `/docs`, which `swift run DocumentationPage` writes.
    public static let documentation = PackageResources.documentation_html

    /// The style of the page of `/docs`.
    public static let documentationStyle = PackageResources.documentation_css

    /// The page of `/`, which loads the ``dashboardParts``.
    public static let dashboardPage = PackageResources.index_html

    /// The scripts, styles and images of the dashboard's page, with their names in the folder.
    public static let dashboardParts: [(name: String, bytes: [UInt8])] = [
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
        ("export-page.js", PackageResources.export_page_js),
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
        ("open-page.js", PackageResources.open_page_js),
        ("overview.css", PackageResources.overview_css),
        ("overview.js", PackageResources.overview_js),
        ("page-actions.js", PackageResources.page_actions_js),
        ("page-card.js", PackageResources.page_card_js),
        ("page-form.js", PackageResources.page_form_js),
        ("page-updates.js", PackageResources.page_updates_js),
        ("page-words.js", PackageResources.page_words_js),
        ("page.js", PackageResources.page_js),
        ("pager.js", PackageResources.pager_js),
        ("pages-model.js", PackageResources.pages_model_js),
        ("pages.css", PackageResources.pages_css),
        ("pages.js", PackageResources.pages_js),
        ("parts.css", PackageResources.parts_css),
        ("poll.js", PackageResources.poll_js),
        ("preview.js", PackageResources.preview_js),
        ("purge.js", PackageResources.purge_js),
        ("readings.js", PackageResources.readings_js),
        ("relative-time.js", PackageResources.relative_time_js),
        ("resource-table.js", PackageResources.resource_table_js),
        ("router.js", PackageResources.router_js),
        ("screenshot.js", PackageResources.screenshot_js),
        ("theme.js", PackageResources.theme_js),
        ("ttl-field.js", PackageResources.ttl_field_js),
        ("turns.js", PackageResources.turns_js),
        ("vitals.js", PackageResources.vitals_js),
    ]
}
