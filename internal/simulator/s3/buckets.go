package s3

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Buckets are the S3 buckets of every account. They are safe for concurrent use.
type Buckets struct {
	env          *resource.Env
	ciphers      Ciphers
	destinations Destinations
	routes       []route

	mu      sync.RWMutex
	buckets map[string]*bucket
	// blocks are the block public access settings of accounts.
	blocks map[string]*node
	// pastBlocks are those before the last change.
	pastBlocks map[string]pastBlock
}

// bucket is one bucket with its objects.
type bucket struct {
	name, account, region string
	env                   *resource.Env
	destinations          Destinations
	all                   map[string]*bucket   // shared with [Buckets]
	accounts              map[string]*node     // shared with [Buckets]
	pastAccounts          map[string]pastBlock // shared with [Buckets]
	created               time.Time
	configuration         map[string]*node // by sub-resource
	listed                map[string]map[string]*node
	policy                string
	past                  pastPolicy
	pastBlock             pastBlock
	tags                  map[string]string
	grants                *node // the AccessControlList, if the bucket uses ACLs
	cannedACL             string
	objectLock            bool

	keys    []string // sorted
	objects map[string]*object
	uploads map[string]*upload
}

// New returns a Buckets without buckets.
func New(env *resource.Env, options ...Option) *Buckets {
	b := &Buckets{env: env, buckets: map[string]*bucket{}, blocks: map[string]*node{}, pastBlocks: map[string]pastBlock{}}
	for _, option := range options {
		option(b)
	}
	b.routes = b.allRoutes()
	return b
}

// Service returns S3's API for the wire layer.
func (b *Buckets) Service() *wire.Service {
	return &wire.Service{
		Name: "s3", Protocols: []wire.Protocol{wire.RESTXML}, APIVersion: "2006-03-01", XMLNamespace: namespace,
		HTTP: b, OperationOf: b.operationOf, HTTPOperations: b.operations(), Anonymous: b.isPublicRequest,
	}
}

// Providers returns the providers of S3's CloudFormation types.
func (b *Buckets) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		"AWS::S3::Bucket":       &bucketProvider{b},
		"AWS::S3::BucketPolicy": &policyProvider{b},
	}
}

// canonicalID returns the account's canonical user ID.
func canonicalID(account string) string {
	sum := sha256.Sum256([]byte("canonical:" + account))
	return hex.EncodeToString(sum[:])
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	badPrefixes = []string{"xn--", "sthree-"}
	badSuffixes = []string{"-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"}
)

// checkBucketName applies the naming rules:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func checkBucketName(name string) error {
	valid := namePattern.MatchString(name) && !strings.Contains(name, "..") && net.ParseIP(name) == nil &&
		!slices.ContainsFunc(badPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) &&
		!slices.ContainsFunc(badSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
	if !valid {
		return with(refuse(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid."), "BucketName", name)
	}
	return nil
}

// create creates a bucket with AWS's defaults: encryption with S3's keys, ACLs disabled and public
// access blocked. The caller holds the lock.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/create-bucket-faq.html
func (b *Buckets) create(name, account, region string) (*bucket, error) {
	if err := checkBucketName(name); err != nil {
		return nil, err
	}
	if have := b.buckets[name]; have != nil {
		if have.account != account {
			return nil, with(
				refuse(
					http.StatusConflict,
					"BucketAlreadyExists",
					"The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.",
				),
				"BucketName",
				name,
			)
		}
		return nil, with(
			refuse(
				http.StatusConflict,
				"BucketAlreadyOwnedByYou",
				"Your previous request to create the named bucket succeeded and you already own it.",
			),
			"BucketName",
			name,
		)
	}
	made := &bucket{
		name: name, account: account, region: region, env: b.env, accounts: b.blocks, pastAccounts: b.pastBlocks,
		all: b.buckets, destinations: b.destinations,
		created: b.env.Clock.Now().UTC().Truncate(time.Second),
		configuration: map[string]*node{
			"ownershipControls": element("OwnershipControls", element("Rule", leaf("ObjectOwnership", bucketOwnerEnforced))),
			accessBlock:         publicAccessBlock(true, true, true, true),
		},
		listed: map[string]map[string]*node{}, tags: map[string]string{}, cannedACL: "private",
		objects: map[string]*object{}, uploads: map[string]*upload{},
	}
	b.buckets[name] = made
	return made, nil
}

// delete deletes an empty bucket. The caller holds the lock.
func (b *Buckets) delete(k *bucket) error {
	if len(k.keys) > 0 {
		message := "The bucket you tried to delete is not empty"
		if k.versioning() != "" {
			message += ". You must delete all versions in the bucket."
		}
		return with(refuse(http.StatusConflict, "BucketNotEmpty", "%s", message), "BucketName", k.name)
	}
	delete(b.buckets, k.name)
	return nil
}

// versioning returns Enabled, Suspended or "".
func (k *bucket) versioning() string { return k.configuration["versioning"].at("Status") }

func (b *Buckets) arn(k *bucket) string { return "arn:" + b.partition() + ":s3:::" + k.name }

func (b *Buckets) partition() string {
	if b.env.Partition == "" {
		return "aws"
	}
	return b.env.Partition
}
