package bootstrap

import (
	"fmt"
	"regexp"
	"strings"
)

// UserDataInput is what an instance must know to fetch the rest.
type UserDataInput struct {
	// Region is the cluster's region.
	Region string
	// DNSSuffix is that of the partition's endpoints, for example amazonaws.com.
	DNSSuffix string
	// Bucket is the cluster's bucket.
	Bucket string
	// Architecture is the instance's, amd64 or arm64.
	Architecture string
	// NodeupSHA256 is the hash of nodeup for that architecture.
	NodeupSHA256 string
	// BundleSHA256 is the hash of the bundle.
	BundleSHA256 string
}

// fields of a UserDataInput may hold no more than this: they stand in a shell script unquoted.
var (
	plainWord = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	hexHash   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// script keeps to what every Linux image has: a POSIX shell, curl (7.75 or newer for --aws-sigv4) and
// sha256sum. Credentials go to curl by standard input, so that no list of processes shows them. Any
// failure, be it credentials that are not there yet, starts over after two seconds.
const script = `#!/bin/sh
r=%s
s=%s
b=%s
a=%s
n=%s
c=%s
umask 77
mkdir -p /var/lib/nodeup
cd /var/lib/nodeup
m=http://169.254.169.254/latest
i() { curl -sSf -m 9 -H "X-aws-ec2-metadata-token: $t" $m/meta-data/iam/security-credentials/$1; }
v() { echo "$j" | sed -n 's/.*"'$1'" *: *"\([^"]*\)".*/\1/p'; }
f() {
t=$(curl -sSf -m 9 -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 300" $m/api/token) &&
p=$(i) && j=$(i $p) &&
printf 'user=%%s:%%s\nheader="x-amz-security-token: %%s"\n' $(v AccessKeyId) $(v SecretAccessKey) $(v Token) |
curl -sSf -m 300 -K - --aws-sigv4 aws:amz:$r:s3 -o nodeup https://$b.s3.$r.$s/nodeup/$n/nodeup-linux-$a &&
echo "$n  nodeup" | sha256sum -c
}
until f; do sleep 2; done
chmod 700 nodeup
exec ./nodeup --bucket $b --region $r --bundle $c
`

// UserData returns the script that an instance boots with, under one kilobyte. It errs when a field
// is missing or not what it must be.
func UserData(in UserDataInput) (string, error) {
	for field, value := range map[string]string{"region": in.Region, "DNS suffix": in.DNSSuffix, "bucket": in.Bucket, "architecture": in.Architecture} {
		if !plainWord.MatchString(value) {
			return "", fmt.Errorf("user data: the %s is %q; it must be lower case letters, digits, dots and dashes", field, value)
		}
	}
	for field, value := range map[string]string{"nodeup": in.NodeupSHA256, "the bundle": in.BundleSHA256} {
		if !hexHash.MatchString(value) {
			return "", fmt.Errorf("user data: the hash of %s is %q; it must be a SHA-256 in hex", field, value)
		}
	}
	return fmt.Sprintf(script, in.Region, in.DNSSuffix, in.Bucket, in.Architecture, in.NodeupSHA256, in.BundleSHA256), nil
}

// ParseUserData reads back what [UserData] wrote. It errs on any other script.
func ParseUserData(text string) (UserDataInput, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, known := values[name]; ok && len(name) == 1 && !known {
			values[name] = value
		}
	}
	in := UserDataInput{
		Region: values["r"], DNSSuffix: values["s"], Bucket: values["b"], Architecture: values["a"],
		NodeupSHA256: values["n"], BundleSHA256: values["c"],
	}
	if written, err := UserData(in); err != nil || written != text {
		return UserDataInput{}, fmt.Errorf("this is not the user data of a cluster's machine: it begins %.40q", text)
	}
	return in, nil
}
