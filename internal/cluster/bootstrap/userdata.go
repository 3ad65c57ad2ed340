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
	// Signed is the Feature SignedBootRequest of the cluster's resource set.
	Signed bool
}

// fields of a UserDataInput may hold no more than this: they stand in a shell script unquoted.
var (
	plainWord = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	hexHash   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// script uses only what every Linux image has: a POSIX shell, curl and sha256sum. curl reads the
// credentials from standard input, so that no process list shows them. Any failure, for example
// credentials that are not available yet, restarts the script after two seconds. It does not send
// x-amz-content-sha256, so it needs curl 8.0 or newer, which adds the header.
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

// signedScript is script with the Feature SignedBootRequest, and as short as it gets. S3 refuses
// requests without x-amz-content-sha256 and those with an x-amz- header that is not signed
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). curl signs the
// headers that it is given, the session token among them, from 7.86 on, and takes the payload's
// hash from that header from 7.87 on. An older curl cannot succeed, so the script ends with a
// message instead of trying again. UNSIGNED-PAYLOAD is enough: a GET request has no payload, and
// the connection is TLS.
const signedScript = `#!/bin/sh
r=%s
b=%s
n=%s
k=$(curl -V)
case $k in curl\ [!7]*|curl\ 7.8[78]*);;*)echo "S3 needs an image with curl 7.87 or later, not $k";exit 1;esac
umask 77
d=/var/lib/nodeup
mkdir -p $d
cd $d
m=169.254.169.254/latest
q='curl -sSfm'
i() { $q 9 -HX-aws-ec2-metadata-token:$t $m/meta-data/iam/security-credentials/$1;}
v() { expr "$j" : ".*$1\" *: *\"\([^\"]*\)";}
until t=$($q 9 -XPUT -HX-aws-ec2-metadata-token-ttl-seconds:300 $m/api/token)&&p=$(i)&&j=$(i $p)&&echo "user=$(v AccessKeyId):$(v SecretAccessKey)
header=x-amz-security-token:$(v Token)"|$q 300 -K- -Hx-amz-content-sha256:UNSIGNED-PAYLOAD --aws-sigv4 aws:amz:$r:s3 -onodeup https://$b.s3.$r.%s/nodeup/$n/nodeup-linux-%s&&echo $n \ nodeup|sha256sum -c;do sleep 2;done
chmod +x nodeup
exec ./nodeup --bucket $b --region $r --bundle %s
`

// signedFields are the fields in a signedScript that no variable holds: DNS suffix, architecture
// and the bundle's hash.
var signedFields = regexp.MustCompile(`https://\$b\.s3\.\$r\.(\S+)/nodeup/\$n/nodeup-linux-([a-z0-9]+)&&[\s\S]* --bundle (\S+)`)

// UserData returns the script that an instance boots with, under one kilobyte. It returns an error
// if a field is missing or invalid.
func UserData(in UserDataInput) (string, error) {
	for field, value := range map[string]string{
		"region": in.Region, "DNS suffix": in.DNSSuffix, "bucket": in.Bucket, "architecture": in.Architecture,
	} {
		if !plainWord.MatchString(value) {
			return "", fmt.Errorf("user data: the %s is %q; it must be lower case letters, digits, dots and dashes", field, value)
		}
	}
	for field, value := range map[string]string{"nodeup": in.NodeupSHA256, "the bundle": in.BundleSHA256} {
		if !hexHash.MatchString(value) {
			return "", fmt.Errorf("user data: the hash of %s is %q; it must be a SHA-256 in hex", field, value)
		}
	}
	if in.Signed {
		return fmt.Sprintf(signedScript, in.Region, in.Bucket, in.NodeupSHA256, in.DNSSuffix, in.Architecture, in.BundleSHA256), nil
	}
	return fmt.Sprintf(script, in.Region, in.DNSSuffix, in.Bucket, in.Architecture, in.NodeupSHA256, in.BundleSHA256), nil
}

// ParseUserData parses the output of [UserData]. It returns an error for any other script.
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
	if fields := signedFields.FindStringSubmatch(text); fields != nil {
		in.Signed, in.DNSSuffix, in.Architecture, in.BundleSHA256 = true, fields[1], fields[2], fields[3]
	}
	if written, err := UserData(in); err != nil || written != text {
		return UserDataInput{}, fmt.Errorf("this is not the user data of a cluster's machine: it begins %.40q", text)
	}
	return in, nil
}
