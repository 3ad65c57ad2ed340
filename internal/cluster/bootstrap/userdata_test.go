package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
)

// longest has the longest suffix that a partition has.
var longest = bootstrap.UserDataInput{
	Region: "us-isob-northeast-10", DNSSuffix: "amazonaws.com.cn", Bucket: strings.Repeat("b", 63),
	Architecture: "arm64", NodeupSHA256: strings.Repeat("a", 64), BundleSHA256: strings.Repeat("b", 64),
}

// The issue asks for less than one kilobyte, whatever the names.
func TestUserDataIsSmall(t *testing.T) {
	for _, signed := range []bool{false, true} {
		in := longest
		in.Signed = signed
		checkSize(t, in)
	}
}

func checkSize(t *testing.T, in bootstrap.UserDataInput) {
	t.Helper()
	text, err := bootstrap.UserData(in)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "curl -sf") {
		t.Errorf("a curl that fails does not say why:\n%s", text)
	}
	if len(text) >= 1024 {
		t.Errorf("user data has %d bytes", len(text))
	}
}

func TestUserDataIsReadBack(t *testing.T) {
	for _, signed := range []bool{false, true} {
		in := longest
		in.Signed = signed
		checkReadBack(t, in)
	}
}

func checkReadBack(t *testing.T, in bootstrap.UserDataInput) {
	t.Helper()
	text, err := bootstrap.UserData(in)
	if err != nil {
		t.Fatal(err)
	}
	read, err := bootstrap.ParseUserData(text)
	if err != nil || read != in {
		t.Errorf("read back: %+v, %v", read, err)
	}
	for reason, other := range map[string]string{
		"nothing":                "",
		"another script":         "#!/bin/sh\necho hello\n",
		"something appended":     text + "rm -rf /\n",
		"something put in front": strings.Replace(text, "umask", "rm -rf /\numask", 1),
	} {
		if _, err := bootstrap.ParseUserData(other); err == nil {
			t.Errorf("%s is taken for user data", reason)
		}
	}
}

func TestUserDataRefusesWhatAShellWouldRun(t *testing.T) {
	for reason, change := range map[string]func(*bootstrap.UserDataInput){
		"a command in the bucket": func(in *bootstrap.UserDataInput) { in.Bucket = "b;reboot" },
		"no region":               func(in *bootstrap.UserDataInput) { in.Region = "" },
		"a suffix with a space":   func(in *bootstrap.UserDataInput) { in.DNSSuffix = "a b" },
		"a short hash":            func(in *bootstrap.UserDataInput) { in.BundleSHA256 = "abc" },
		"no nodeup":               func(in *bootstrap.UserDataInput) { in.NodeupSHA256 = "" },
	} {
		in := longest
		change(&in)
		if text, err := bootstrap.UserData(in); err == nil {
			t.Errorf("%s gives %q", reason, text)
		}
	}
}

func FuzzParseUserData(f *testing.F) {
	text, err := bootstrap.UserData(longest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("r=a\ns=b")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := bootstrap.ParseUserData(text)
		if err != nil {
			return
		}
		if written, err := bootstrap.UserData(in); err != nil || written != text {
			t.Errorf("%q is read as %+v, which is written as %q, %v", text, in, written, err)
		}
	})
}
