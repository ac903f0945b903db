// The bytes of the files in Sources/EmbeddedFiles. A compiler of C reads a file of bytes at once (#embed, C23), where a
// compiler of Swift needs minutes for a literal of a megabyte.

#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi_yaml[] = {
#embed "../EmbeddedFiles/openapi.yaml"
};
static const unsigned char documentation_html[] = {
#embed "../EmbeddedFiles/Documentation/documentation.html"
};
static const unsigned char documentation_css[] = {
#embed "../EmbeddedFiles/Documentation/documentation.css"
};
static const unsigned char activity_js[] = {
#embed "../EmbeddedFiles/Dashboard/activity.js"
};
static const unsigned char api_js[] = {
#embed "../EmbeddedFiles/Dashboard/api.js"
};
static const unsigned char base_css[] = {
#embed "../EmbeddedFiles/Dashboard/base.css"
};
static const unsigned char change_js[] = {
#embed "../EmbeddedFiles/Dashboard/change.js"
};
static const unsigned char change_actions_js[] = {
#embed "../EmbeddedFiles/Dashboard/change-actions.js"
};
static const unsigned char change_versions_js[] = {
#embed "../EmbeddedFiles/Dashboard/change-versions.js"
};
static const unsigned char change_words_js[] = {
#embed "../EmbeddedFiles/Dashboard/change-words.js"
};
static const unsigned char chart_js[] = {
#embed "../EmbeddedFiles/Dashboard/chart.js"
};
static const unsigned char clock_js[] = {
#embed "../EmbeddedFiles/Dashboard/clock.js"
};
static const unsigned char dialog_js[] = {
#embed "../EmbeddedFiles/Dashboard/dialog.js"
};
static const unsigned char dom_js[] = {
#embed "../EmbeddedFiles/Dashboard/dom.js"
};
static const unsigned char download_form_js[] = {
#embed "../EmbeddedFiles/Dashboard/download-form.js"
};
static const unsigned char download_list_js[] = {
#embed "../EmbeddedFiles/Dashboard/download-list.js"
};
static const unsigned char downloads_model_js[] = {
#embed "../EmbeddedFiles/Dashboard/downloads-model.js"
};
static const unsigned char downloads_css[] = {
#embed "../EmbeddedFiles/Dashboard/downloads.css"
};
static const unsigned char downloads_js[] = {
#embed "../EmbeddedFiles/Dashboard/downloads.js"
};
static const unsigned char drawn_js[] = {
#embed "../EmbeddedFiles/Dashboard/drawn.js"
};
static const unsigned char entries_css[] = {
#embed "../EmbeddedFiles/Dashboard/entries.css"
};
static const unsigned char entries_js[] = {
#embed "../EmbeddedFiles/Dashboard/entries.js"
};
static const unsigned char entry_actions_js[] = {
#embed "../EmbeddedFiles/Dashboard/entry-actions.js"
};
static const unsigned char entry_table_js[] = {
#embed "../EmbeddedFiles/Dashboard/entry-table.js"
};
static const unsigned char entry_css[] = {
#embed "../EmbeddedFiles/Dashboard/entry.css"
};
static const unsigned char entry_js[] = {
#embed "../EmbeddedFiles/Dashboard/entry.js"
};
static const unsigned char events_js[] = {
#embed "../EmbeddedFiles/Dashboard/events.js"
};
static const unsigned char export_page_js[] = {
#embed "../EmbeddedFiles/Dashboard/export-page.js"
};
static const unsigned char failure_js[] = {
#embed "../EmbeddedFiles/Dashboard/failure.js"
};
static const unsigned char fields_css[] = {
#embed "../EmbeddedFiles/Dashboard/fields.css"
};
static const unsigned char filter_form_js[] = {
#embed "../EmbeddedFiles/Dashboard/filter-form.js"
};
static const unsigned char format_js[] = {
#embed "../EmbeddedFiles/Dashboard/format.js"
};
static const unsigned char frame_css[] = {
#embed "../EmbeddedFiles/Dashboard/frame.css"
};
static const unsigned char freshness_js[] = {
#embed "../EmbeddedFiles/Dashboard/freshness.js"
};
static const unsigned char icon_svg[] = {
#embed "../EmbeddedFiles/Dashboard/icon.svg"
};
static const unsigned char index_html[] = {
#embed "../EmbeddedFiles/Dashboard/index.html"
};
static const unsigned char item_table_js[] = {
#embed "../EmbeddedFiles/Dashboard/item-table.js"
};
static const unsigned char json_text_js[] = {
#embed "../EmbeddedFiles/Dashboard/json-text.js"
};
static const unsigned char json_tree_js[] = {
#embed "../EmbeddedFiles/Dashboard/json-tree.js"
};
static const unsigned char lane_card_js[] = {
#embed "../EmbeddedFiles/Dashboard/lane-card.js"
};
static const unsigned char lanes_model_js[] = {
#embed "../EmbeddedFiles/Dashboard/lanes-model.js"
};
static const unsigned char line_diff_js[] = {
#embed "../EmbeddedFiles/Dashboard/line-diff.js"
};
static const unsigned char main_js[] = {
#embed "../EmbeddedFiles/Dashboard/main.js"
};
static const unsigned char masthead_js[] = {
#embed "../EmbeddedFiles/Dashboard/masthead.js"
};
static const unsigned char merge_editor_js[] = {
#embed "../EmbeddedFiles/Dashboard/merge-editor.js"
};
static const unsigned char name_js[] = {
#embed "../EmbeddedFiles/Dashboard/name.js"
};
static const unsigned char namespaces_js[] = {
#embed "../EmbeddedFiles/Dashboard/namespaces.js"
};
static const unsigned char notices_js[] = {
#embed "../EmbeddedFiles/Dashboard/notices.js"
};
static const unsigned char open_page_js[] = {
#embed "../EmbeddedFiles/Dashboard/open-page.js"
};
static const unsigned char outbox_css[] = {
#embed "../EmbeddedFiles/Dashboard/outbox.css"
};
static const unsigned char outbox_js[] = {
#embed "../EmbeddedFiles/Dashboard/outbox.js"
};
static const unsigned char overview_css[] = {
#embed "../EmbeddedFiles/Dashboard/overview.css"
};
static const unsigned char overview_js[] = {
#embed "../EmbeddedFiles/Dashboard/overview.js"
};
static const unsigned char page_actions_js[] = {
#embed "../EmbeddedFiles/Dashboard/page-actions.js"
};
static const unsigned char page_card_js[] = {
#embed "../EmbeddedFiles/Dashboard/page-card.js"
};
static const unsigned char page_form_js[] = {
#embed "../EmbeddedFiles/Dashboard/page-form.js"
};
static const unsigned char page_updates_js[] = {
#embed "../EmbeddedFiles/Dashboard/page-updates.js"
};
static const unsigned char page_words_js[] = {
#embed "../EmbeddedFiles/Dashboard/page-words.js"
};
static const unsigned char page_js[] = {
#embed "../EmbeddedFiles/Dashboard/page.js"
};
static const unsigned char pager_js[] = {
#embed "../EmbeddedFiles/Dashboard/pager.js"
};
static const unsigned char pages_model_js[] = {
#embed "../EmbeddedFiles/Dashboard/pages-model.js"
};
static const unsigned char pages_css[] = {
#embed "../EmbeddedFiles/Dashboard/pages.css"
};
static const unsigned char pages_js[] = {
#embed "../EmbeddedFiles/Dashboard/pages.js"
};
static const unsigned char parts_css[] = {
#embed "../EmbeddedFiles/Dashboard/parts.css"
};
static const unsigned char poll_js[] = {
#embed "../EmbeddedFiles/Dashboard/poll.js"
};
static const unsigned char preview_js[] = {
#embed "../EmbeddedFiles/Dashboard/preview.js"
};
static const unsigned char purge_js[] = {
#embed "../EmbeddedFiles/Dashboard/purge.js"
};
static const unsigned char readings_js[] = {
#embed "../EmbeddedFiles/Dashboard/readings.js"
};
static const unsigned char relative_time_js[] = {
#embed "../EmbeddedFiles/Dashboard/relative-time.js"
};
static const unsigned char repeat_js[] = {
#embed "../EmbeddedFiles/Dashboard/repeat.js"
};
static const unsigned char resource_table_js[] = {
#embed "../EmbeddedFiles/Dashboard/resource-table.js"
};
static const unsigned char router_js[] = {
#embed "../EmbeddedFiles/Dashboard/router.js"
};
static const unsigned char screenshot_js[] = {
#embed "../EmbeddedFiles/Dashboard/screenshot.js"
};
static const unsigned char subscription_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscription.js"
};
static const unsigned char subscription_actions_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscription-actions.js"
};
static const unsigned char subscription_card_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscription-card.js"
};
static const unsigned char subscription_updates_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscription-updates.js"
};
static const unsigned char subscription_words_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscription-words.js"
};
static const unsigned char subscriptions_css[] = {
#embed "../EmbeddedFiles/Dashboard/subscriptions.css"
};
static const unsigned char subscriptions_js[] = {
#embed "../EmbeddedFiles/Dashboard/subscriptions.js"
};
static const unsigned char theme_js[] = {
#embed "../EmbeddedFiles/Dashboard/theme.js"
};
static const unsigned char ttl_field_js[] = {
#embed "../EmbeddedFiles/Dashboard/ttl-field.js"
};
static const unsigned char turns_js[] = {
#embed "../EmbeddedFiles/Dashboard/turns.js"
};
static const unsigned char version_table_js[] = {
#embed "../EmbeddedFiles/Dashboard/version-table.js"
};
static const unsigned char vitals_js[] = {
#embed "../EmbeddedFiles/Dashboard/vitals.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}

static const struct larder_embedded_file files[] = {
    FILE("openapi.yaml", openapi_yaml),
    FILE("documentation.html", documentation_html),
    FILE("documentation.css", documentation_css),
    FILE("activity.js", activity_js),
    FILE("api.js", api_js),
    FILE("base.css", base_css),
    FILE("change.js", change_js),
    FILE("change-actions.js", change_actions_js),
    FILE("change-versions.js", change_versions_js),
    FILE("change-words.js", change_words_js),
    FILE("chart.js", chart_js),
    FILE("clock.js", clock_js),
    FILE("dialog.js", dialog_js),
    FILE("dom.js", dom_js),
    FILE("download-form.js", download_form_js),
    FILE("download-list.js", download_list_js),
    FILE("downloads-model.js", downloads_model_js),
    FILE("downloads.css", downloads_css),
    FILE("downloads.js", downloads_js),
    FILE("drawn.js", drawn_js),
    FILE("entries.css", entries_css),
    FILE("entries.js", entries_js),
    FILE("entry-actions.js", entry_actions_js),
    FILE("entry-table.js", entry_table_js),
    FILE("entry.css", entry_css),
    FILE("entry.js", entry_js),
    FILE("events.js", events_js),
    FILE("export-page.js", export_page_js),
    FILE("failure.js", failure_js),
    FILE("fields.css", fields_css),
    FILE("filter-form.js", filter_form_js),
    FILE("format.js", format_js),
    FILE("frame.css", frame_css),
    FILE("freshness.js", freshness_js),
    FILE("icon.svg", icon_svg),
    FILE("index.html", index_html),
    FILE("item-table.js", item_table_js),
    FILE("json-text.js", json_text_js),
    FILE("json-tree.js", json_tree_js),
    FILE("lane-card.js", lane_card_js),
    FILE("lanes-model.js", lanes_model_js),
    FILE("line-diff.js", line_diff_js),
    FILE("main.js", main_js),
    FILE("masthead.js", masthead_js),
    FILE("merge-editor.js", merge_editor_js),
    FILE("name.js", name_js),
    FILE("namespaces.js", namespaces_js),
    FILE("notices.js", notices_js),
    FILE("open-page.js", open_page_js),
    FILE("outbox.css", outbox_css),
    FILE("outbox.js", outbox_js),
    FILE("overview.css", overview_css),
    FILE("overview.js", overview_js),
    FILE("page-actions.js", page_actions_js),
    FILE("page-card.js", page_card_js),
    FILE("page-form.js", page_form_js),
    FILE("page-updates.js", page_updates_js),
    FILE("page-words.js", page_words_js),
    FILE("page.js", page_js),
    FILE("pager.js", pager_js),
    FILE("pages-model.js", pages_model_js),
    FILE("pages.css", pages_css),
    FILE("pages.js", pages_js),
    FILE("parts.css", parts_css),
    FILE("poll.js", poll_js),
    FILE("preview.js", preview_js),
    FILE("purge.js", purge_js),
    FILE("readings.js", readings_js),
    FILE("relative-time.js", relative_time_js),
    FILE("repeat.js", repeat_js),
    FILE("resource-table.js", resource_table_js),
    FILE("router.js", router_js),
    FILE("screenshot.js", screenshot_js),
    FILE("subscription.js", subscription_js),
    FILE("subscription-actions.js", subscription_actions_js),
    FILE("subscription-card.js", subscription_card_js),
    FILE("subscription-updates.js", subscription_updates_js),
    FILE("subscription-words.js", subscription_words_js),
    FILE("subscriptions.css", subscriptions_css),
    FILE("subscriptions.js", subscriptions_js),
    FILE("theme.js", theme_js),
    FILE("ttl-field.js", ttl_field_js),
    FILE("turns.js", turns_js),
    FILE("version-table.js", version_table_js),
    FILE("vitals.js", vitals_js),
};

const struct larder_embedded_file *larder_embedded_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
