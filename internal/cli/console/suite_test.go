package console_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// suite is a namespace of a real API server with the operator's kinds, but no operator: the tests
// write the statuses.
type suite struct {
	t         *testing.T
	client    client.Client
	config    *rest.Config
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	server := controlplanetest.Shared(t)
	clusters, err := clusterv1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	services, err := servicev1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	identities, err := identityv1alpha1.CustomResourceDefinition()
	if err != nil {
		t.Fatal(err)
	}
	all := append(slices.Concat(clusters, services), identities)
	set, err := kinds.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"SQSQueue", "SNSTopic", "SNSSubscription"} {
		model, err := set.Model(kind)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, model.CRD())
	}
	if err := operatorkit.EnsureCRDs(patience.Context(t), server.RESTConfig(), "console-test", all...); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(
		clientgoscheme.AddToScheme(scheme), clusterv1alpha1.AddToScheme(scheme), servicev1alpha1.AddToScheme(scheme),
		identityv1alpha1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	w := &suite{t: t, config: server.RESTConfig(), namespace: controlplanetest.Namespace(t, server)}
	if w.client, err = client.New(w.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *suite) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		object.SetNamespace(w.namespace)
		if err := w.client.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *suite) setStatus(object client.Object) {
	w.t.Helper()
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func group(name string) *clusterv1alpha1.InstanceGroup {
	return &clusterv1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 3, InstanceTypes: []string{"m6i.large"}},
	}
}

// set sets a condition as the operator does.
func (w *suite) set(object client.Object, kind string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	operatorkit.SetCondition(object, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.GetGeneration(),
	})
	w.setStatus(object)
}

// browser is a client of a console.
type browser struct {
	t    *testing.T
	host string
	// token is that of the console of the user of the kubeconfig.
	token string
	// user and namespace are those of a console that several users share.
	user, namespace string
}

// open starts the command with a user's permissions, and returns a client with the address that it prints.
func (w *suite) open(config *rest.Config, flags ...string) *browser {
	w.t.Helper()
	controlplanetest.UseKubeconfig(w.t, config, w.namespace)
	line := start(w.t, console.Command(), append([]string{"-n", w.namespace}, flags...)...)
	address, err := url.Parse(strings.TrimPrefix(line, "Open "))
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{t: w.t, host: address.Host, token: strings.TrimPrefix(address.Fragment, "token=")}
}

// start starts the command until the test ends, and returns the line that it prints.
func start(t *testing.T, cmd *cobra.Command, args ...string) string {
	t.Helper()
	read, write := io.Pipe()
	cmd.SetArgs(args)
	cmd.SetOut(write)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		ended <- errors.Join(err, write.CloseWithError(errors.New("the command ended")))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// request makes a request with the token, or for the proxy with the user's cookie.
func (b *browser) request(method, path, body string) *http.Request {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.host+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if b.token != "" {
		request.Header.Set("Authorization", "Bearer "+b.token)
		return request
	}
	request.Host = sharedHost
	request.AddCookie(&http.Cookie{Name: sharedCookie, Value: b.user})
	if b.namespace != "" {
		query := request.URL.Query()
		query.Set("namespace", b.namespace)
		request.URL.RawQuery = query.Encode()
	}
	return request
}

// send sends a request, and returns the status and the body of the answer.
func (b *browser) send(request *http.Request) (status int, body string, header http.Header) {
	b.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(data), response.Header
}

// post sends an order.
func (b *browser) post(path string, order map[string]any) (status int, body string) {
	b.t.Helper()
	data, err := json.Marshal(order)
	if err != nil {
		b.t.Fatal(err)
	}
	status, body, _ = b.send(b.request(http.MethodPost, path, string(data)))
	return status, body
}

// line is a row of the overview.
type line struct {
	ID, Kind, Name, Mark, Reason, Text string
	Pending, Drifted                   bool
}

// fleet is the overview, which follows the stream of changes.
type fleet struct {
	t      *testing.T
	rows   map[string]line
	hidden []string
	whole  bool   // the objects are complete
	ended  string // why the stream ends
	lines  *bufio.Reader
	close  func()
}

// watch follows the stream of changes.
func (b *browser) watch() *fleet {
	b.t.Helper()
	response, err := http.DefaultClient.Do(b.request(http.MethodGet, "/api/watch", ""))
	if err != nil {
		b.t.Fatal(err)
	}
	end := func() { _ = response.Body.Close() }
	b.t.Cleanup(end)
	if response.StatusCode != http.StatusOK {
		b.t.Fatalf("status %d", response.StatusCode)
	}
	return &fleet{t: b.t, rows: map[string]line{}, lines: bufio.NewReader(response.Body), close: end}
}

// until reads the stream until a condition holds.
func (f *fleet) until(what string, holds func() bool) {
	f.t.Helper()
	for !holds() {
		text, err := f.lines.ReadBytes('\n')
		if err != nil {
			f.t.Fatalf("%s: %v; the rows are %+v", what, err, f.rows)
		}
		var news struct {
			Whole   bool
			Rows    []line
			Deleted []string
			Hidden  []string
			Ended   string
		}
		if err := json.Unmarshal(text, &news); err != nil {
			f.t.Fatal(err)
		}
		if news.Whole {
			clear(f.rows)
			f.whole = true
		}
		for _, row := range news.Rows {
			f.rows[row.Kind+" "+row.Name] = row
		}
		for _, id := range news.Deleted {
			maps.DeleteFunc(f.rows, func(_ string, row line) bool { return row.ID == id })
		}
		if len(news.Hidden) > 0 {
			f.hidden = news.Hidden
		}
		f.ended = news.Ended
	}
}

// row waits until the overview has a row with a mark, and returns it.
func (f *fleet) row(name, mark string) line {
	f.t.Helper()
	f.until(fmt.Sprintf("%s is %s", name, mark), func() bool { return f.rows[name].Mark == mark })
	return f.rows[name]
}

// page is one object's page.
type page struct {
	Text    string
	Stalled bool
	Causes  []struct{ Name, Text string }
	Changes []struct{ Stack, Digest, Summary string }
	Facts   []struct {
		Name  string
		Value cell
	}
	Sections []section
}

type section struct {
	Title, Text, Code string
	Bar               *struct{ Done, Total int }
	Graph             *struct {
		Label string
		Nodes []struct {
			Kind, Name, Mark string
			Column, Row      int
		}
		Edges [][2]int
	}
	Rows [][]cell
}

type cell struct{ Text, Mark, ID string }

// page reads the page of an object.
func (b *browser) page(id string) page {
	b.t.Helper()
	status, body, _ := b.send(b.request(http.MethodGet, "/api/object?id="+url.QueryEscape(id), ""))
	var p page
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusOK {
		b.t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return p
}

// aws reads what AWS has of an object.
func (b *browser) aws(id string) page {
	b.t.Helper()
	status, body, _ := b.send(b.request(http.MethodGet, "/api/aws?id="+url.QueryEscape(id), ""))
	var p page
	if err := json.Unmarshal([]byte(body), &p.Sections); err != nil || status != http.StatusOK {
		b.t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return p
}

// section returns a section of a page as text: its sentence, and the cells of each row.
func (p *page) section(title string) string {
	var text bytes.Buffer
	for _, s := range p.Sections {
		if s.Title != title {
			continue
		}
		text.WriteString(s.Text + "\n" + s.Code)
		if s.Bar != nil {
			fmt.Fprintf(&text, "%d/%d\n", s.Bar.Done, s.Bar.Total)
		}
		for _, row := range s.Rows {
			for _, c := range row {
				text.WriteString(c.Text + " | ")
			}
			text.WriteString("\n")
		}
	}
	return text.String()
}

func (p *page) fact(name string) string {
	for _, f := range p.Facts {
		if f.Name == name {
			return f.Value.Text
		}
	}
	return ""
}
