package template

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

const testdata = "../../manifest/templates/testdata/"

var workflow = []string{
	"--template", testdata + "cluster.tmpl.yaml", "--snippets", testdata + "snippets", "--values", testdata + "values.yaml",
	"--values", testdata + "production.yaml", "--values-terraform", testdata + "outputs.json",
	"--set", "groups.nodes.max=9,labels={a,b}", "--set-string", "labels[1]=true", "--format-yaml",
}

func TestTheWorkflowIsOneCommand(t *testing.T) {
	want, err := os.ReadFile(testdata + "cluster.formatted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, "", workflow...); err != nil || got != string(want) {
		t.Errorf("it prints %s\n%v", got, err)
	}
	path := filepath.Join(t.TempDir(), "demo.yml")
	if printed, err := run(t, "", append(workflow, "-o", path)...); err != nil || printed != "" {
		t.Fatalf("%q, %v", printed, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("it writes %s\n%v", got, err)
	}
}

func TestValuesMayComeFromStandardInput(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "t.yaml")
	if err := os.WriteFile(template, []byte("name: {{ .clusterName }}\nvpc: {{ .vpc.value }}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := run(t, `{"vpc": {"value": "vpc-1"}}`, "--template", template, "--values-terraform", "-", "--name", "demo")
	if want := "name: demo\nvpc: vpc-1\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestMistakesLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.yml")
	for name, test := range map[string]struct {
		in, want string
		args     []string
	}{
		"a file that is not there":   {args: []string{"--template", filepath.Join(dir, "none")}, want: "no such file"},
		"a value that is not there":  {in: "{{ .vcp }}", args: []string{"--template", "-", "--set", "vpc=1"}, want: "standard input:1:4: there is no value vcp in {{ .vcp }}; did you mean .vpc?"},
		"values that are no map":     {in: "[a]", args: []string{"--template", testdata + "values.yaml", "--values", "-"}, want: "values must be a map"},
		"outputs that are values":    {in: "{a: 1}", args: []string{"--template", testdata + "values.yaml", "--values-terraform", "-"}, want: "not an output of Terraform"},
		"a flag that cannot be read": {in: "x", args: []string{"--template", "-", "--set", "a"}, want: "--set a"},
		"text that is no YAML":       {in: "a: b: c", args: []string{"--template", "-", "--format-yaml"}, want: "cannot be formatted"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, test.in, append(test.args, "-o", out)...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}
