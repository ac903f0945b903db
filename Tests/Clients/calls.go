// Makes real calls with the generated Go client to the server that world.py starts. scripts/check-clients puts this
// file into a folder below the client and runs it. The process exits with 1 at the first wrong answer.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"

	larder "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func equal(found, expected interface{}) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%v instead of %v", found, expected))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	configuration := larder.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("CHECK_URL")
	client := larder.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), larder.ContextAccessToken, os.Getenv("CHECK_TOKEN"))
	url := os.Getenv("CHECK_ORIGIN") + "/go"

	request := larder.NewDownloadRequest(url)
	request.SetTtl(3600)
	request.SetTags([]string{"go"})
	request.SetParams(map[string]interface{}{"a": 1, "b": []string{"x", "y"}})
	result, _, err := client.DownloadAPI.Download(ctx).DownloadRequest(*request).Execute()
	must(err)
	equal(result.Outcome, larder.DOWNLOADED)
	equal(result.Entry.GetUrl(), url+"?a=1&b=x&b=y")
	equal(result.Entry.State, larder.IS_FRESH)
	equal(result.Entry.ExpiresInSeconds, 3600.0)
	equal(result.Entry.LastAccessDate.Get() == nil, true)
	key := result.Entry.Key

	changed, _, err := client.EntriesAPI.UpdateEntry(ctx, key).EntryChange(larder.EntryChange{Tags: []string{"changed"}}).Execute()
	must(err)
	equal(changed.Entry.Tags, []string{"changed"})
	list, _, err := client.EntriesAPI.ListEntries(ctx).Tag("changed").Sort(larder.BY_KEY_REVERSED).Execute()
	must(err)
	equal(len(list.Entries), 1)

	stored, _, err := client.JsonAPI.PutJSON(ctx).Url("https://api.example.com/").Body([]int{1, 2}).Ttl(60).Execute()
	must(err)
	equal(stored.Entry.Kind, larder.JSON)
	removed, _, err := client.JsonAPI.PutJSON(ctx).Url("https://api.example.com/").Body([]int{1}).Ttl(0).Execute()
	must(err)
	equal(removed.Removed.Removed, int64(1))
	content, _, err := client.EntriesAPI.GetContent(ctx, key).Execute()
	must(err)
	body, err := os.ReadFile(content.Name())
	must(err)
	equal(int64(len(body)), result.Entry.ContentLength)

	space, _, err := client.NamespacesAPI.PutNamespace(ctx, "go").NamespaceChange(larder.NamespaceChange{}).Execute()
	must(err)
	equal(space.Origins == nil, true)
	stats, _, err := client.ServiceAPI.GetStats(ctx).Execute()
	must(err)
	// The limit needs more than 32 bits.
	equal(stats.DiskLimit, int64(4<<30))

	count, _, err := client.EntriesAPI.RemoveEntries(ctx).Tag("changed").Execute()
	must(err)
	equal(count.Removed, int64(1))
	_, response, err := client.EntriesAPI.GetEntry(ctx, key).Execute()
	equal(response.StatusCode, 404)
	equal(err.(*larder.GenericOpenAPIError).Model().(larder.Problem).Status, int32(404))
	fmt.Println("the Go client downloads, lists, reads, stores and purges")
}
