package s3

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
)

// The values of ObjectOwnership:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html
const bucketOwnerEnforced = "BucketOwnerEnforced"

func publicAccessBlock(blockACLs, ignoreACLs, blockPolicy, restrict bool) *node {
	text := map[bool]string{true: "true", false: "false"}
	return element("PublicAccessBlockConfiguration",
		leaf("BlockPublicAcls", text[blockACLs]), leaf("IgnorePublicAcls", text[ignoreACLs]),
		leaf("BlockPublicPolicy", text[blockPolicy]), leaf("RestrictPublicBuckets", text[restrict]))
}

// blocks reports whether a public access block is enabled for the bucket or its account: the most
// restrictive combination applies. Existing policies of a bucket stay.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
func (k *bucket) blocks(setting string) bool {
	own := k.pastBlock.inEffect(k.env, k.configuration[accessBlock])
	account := k.pastAccounts[k.account].inEffect(k.env, k.accounts[k.account])
	return own.at(setting) == "true" || account.at(setting) == "true"
}

func (b *Buckets) getAccountBlock(r *request) error {
	if r.call.Account != r.control {
		return accessDenied()
	}
	if b.blocks[r.control] == nil {
		return with(
			refuse(http.StatusNotFound, "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found"),
			"AccountId",
			r.control,
		)
	}
	return r.respond(b.blocks[r.control])
}

func (b *Buckets) putAccountBlock(r *request) error {
	if r.call.Account != r.control {
		return accessDenied()
	}
	n, err := parseRoot(r.body, "PublicAccessBlockConfiguration")
	if err != nil {
		return err
	}
	b.pastBlocks[r.control] = b.pastBlocks[r.control].next(b.env, b.blocks[r.control])
	b.blocks[r.control] = publicAccessBlock(n.at("BlockPublicAcls") == "true", n.at("IgnorePublicAcls") == "true",
		n.at("BlockPublicPolicy") == "true", n.at("RestrictPublicBuckets") == "true")
	r.status = http.StatusCreated
	return nil
}

func (b *Buckets) deleteAccountBlock(r *request) error {
	if r.call.Account != r.control {
		return accessDenied()
	}
	b.pastBlocks[r.control] = b.pastBlocks[r.control].next(b.env, b.blocks[r.control])
	delete(b.blocks, r.control)
	return r.noContent()
}

// ownership returns the bucket's object ownership. Without ownership controls it is ObjectWriter.
func (k *bucket) ownership() string {
	if o := k.configuration["ownershipControls"].at("Rule", "ObjectOwnership"); o != "" {
		return o
	}
	return "ObjectWriter"
}

// The canned ACLs and their grants besides the owner's:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html#canned-acl
var cannedGrants = map[string][][2]string{
	"private": {}, "bucket-owner-full-control": {}, "bucket-owner-read": {}, "aws-exec-read": {},
	"public-read":        {{allUsers, "READ"}},
	"public-read-write":  {{allUsers, "READ"}, {allUsers, "WRITE"}},
	"authenticated-read": {{authenticatedUsers, "READ"}},
	"log-delivery-write": {{logDelivery, "WRITE"}, {logDelivery, "READ_ACP"}},
}

const (
	allUsers           = "http://acs.amazonaws.com/groups/global/AllUsers"
	authenticatedUsers = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"
	logDelivery        = "http://acs.amazonaws.com/groups/s3/LogDelivery"
)

// grantList returns the AccessControlList of a canned ACL.
func grantList(account, canned string) *node {
	owner := &node{name: "Grantee", kind: "CanonicalUser", children: []*node{leaf("ID", canonicalID(account))}}
	list := element("AccessControlList", element("Grant", owner, leaf("Permission", "FULL_CONTROL")))
	for _, g := range cannedGrants[canned] {
		group := &node{name: "Grantee", kind: "Group", children: []*node{leaf("URI", g[0])}}
		list.children = append(list.children, element("Grant", group, leaf("Permission", g[1])))
	}
	return list
}

// isPublicList reports whether an ACL grants anything to everyone.
func isPublicList(list *node) bool {
	return slices.ContainsFunc(list.all("Grant"), func(g *node) bool {
		uri := g.at("Grantee", "URI")
		return uri == allUsers || uri == authenticatedUsers
	})
}

// ownerOnly reports whether an ACL only grants full control to the owner, which is the only ACL
// that a bucket without ACLs accepts.
func ownerOnly(account string, list *node) bool {
	grants := list.all("Grant")
	return len(grants) == 1 && grants[0].at("Grantee", "ID") == canonicalID(account) && grants[0].at("Permission") == "FULL_CONTROL"
}

// acl returns the bucket's ACL.
func (k *bucket) acl() *node {
	if k.grants != nil {
		return k.grants
	}
	return grantList(k.account, "private")
}

// setACL sets the bucket's ACL if its ownership and its public access block allow that.
func (k *bucket) setACL(canned string, list *node) error {
	if canned != "" {
		if _, known := cannedGrants[canned]; !known {
			return invalidArgument("x-amz-acl", canned, "")
		}
		list = grantList(k.account, canned)
	}
	if k.ownership() == bucketOwnerEnforced && !ownerOnly(k.account, list) {
		return refuse(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	}
	if k.blocks("BlockPublicAcls") && isPublicList(list) {
		return accessDenied()
	}
	k.grants, k.cannedACL = list, canned
	return nil
}

// checkNewACL returns the errors of CreateBucket about an ACL in the request:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
func (k *bucket) checkNewACL(canned string) error {
	if k.ownership() == bucketOwnerEnforced && len(cannedGrants[canned]) > 0 {
		return refuse(
			http.StatusBadRequest,
			"InvalidBucketAclWithObjectOwnership",
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
		)
	}
	if k.blocks("BlockPublicAcls") && isPublicList(grantList(k.account, canned)) {
		return refuse(
			http.StatusBadRequest,
			"InvalidBucketAclWithBlockPublicAccessError",
			"Bucket cannot have public ACLs set with BlockPublicAccess enabled",
		)
	}
	return nil
}

// policyDocument holds the parts of a bucket policy that the simulator evaluates.
type policyDocument struct {
	Version   string
	Statement statements
}

type statement struct {
	Effect            string
	Principal         any
	NotPrincipal      any
	Action, NotAction any
	Resource          any
	Condition         map[string]any
}

// statements is one statement or a list of them.
type statements []statement

// UnmarshalJSON accepts one statement or a list.
func (s *statements) UnmarshalJSON(data []byte) error {
	var list []statement
	if json.Unmarshal(data, &list) == nil {
		*s = list
		return nil
	}
	var one statement
	err := json.Unmarshal(data, &one)
	*s = statements{one}
	return err
}

func parsePolicy(text string) (*policyDocument, error) {
	p := &policyDocument{}
	if json.Unmarshal([]byte(text), p) != nil {
		return nil, refuse(http.StatusBadRequest, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	}
	if len(p.Statement) == 0 {
		return nil, refuse(http.StatusBadRequest, "MalformedPolicy", "Missing required field Statement")
	}
	for _, s := range p.Statement {
		switch {
		case s.Effect != "Allow" && s.Effect != "Deny":
			return nil, refuse(http.StatusBadRequest, "MalformedPolicy", "Invalid effect: %s", s.Effect)
		case s.Principal == nil && s.NotPrincipal == nil:
			return nil, refuse(http.StatusBadRequest, "MalformedPolicy", "Missing required field Principal")
		case s.Action == nil && s.NotAction == nil:
			return nil, refuse(http.StatusBadRequest, "MalformedPolicy", "Missing required field Action")
		}
	}
	return p, nil
}

// setPolicy sets the bucket's policy, unless it is public and public policies are blocked.
func (k *bucket) setPolicy(arn, text string) error {
	p, err := parsePolicy(text)
	if err != nil {
		return err
	}
	for _, s := range p.Statement {
		for _, r := range texts(s.Resource) {
			if r != arn && !strings.HasPrefix(r, arn+"/") && !strings.ContainsAny(r, "*?") {
				return refuse(http.StatusBadRequest, "MalformedPolicy", "Policy has invalid resource")
			}
		}
	}
	if p.isPublic() && k.blocks("BlockPublicPolicy") {
		return accessDenied()
	}
	k.policy = text
	return nil
}

// isPublic reports whether the policy allows anything to everyone without a condition:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html#access-control-block-public-access-policy-status
func (p *policyDocument) isPublic() bool {
	return slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == "Allow" && len(s.Condition) == 0 && slices.Contains(principals(s.Principal), "*")
	})
}

// allows evaluates the policy for an account, or for anonymous callers if account is empty. The
// simulator does not evaluate conditions: a statement with a condition never allows and always
// denies.
func (p *policyDocument) allows(account, action, resource string) bool {
	allowed := false
	for _, s := range p.Statement {
		if !s.isAbout(account, action, resource) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = allowed || len(s.Condition) == 0
	}
	return allowed
}

func (s *statement) isAbout(account, action, resource string) bool {
	who := principals(s.Principal)
	if !slices.Contains(who, "*") && !slices.ContainsFunc(who, func(w string) bool {
		return account != "" && (w == account || strings.Contains(w, "::"+account+":"))
	}) {
		return false
	}
	matches := func(subject string) func(string) bool {
		return func(pattern string) bool { return glob(pattern, subject) }
	}
	return slices.ContainsFunc(texts(s.Action), matches(action)) && slices.ContainsFunc(texts(s.Resource), matches(resource))
}

// principals returns "*", account IDs and ARNs.
func principals(v any) []string {
	if m, ok := v.(map[string]any); ok {
		return texts(m["AWS"])
	}
	return texts(v)
}

// texts converts a string or a list of strings to a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// glob matches * and ?, which also match slashes.
func glob(pattern, subject string) bool {
	hide := strings.NewReplacer("/", "\x00", "[", "\x01", "\\", "\x02")
	matched, err := path.Match(hide.Replace(pattern), hide.Replace(subject))
	return err == nil && matched
}

func (b *Buckets) mayReadByACL(r *request, k *bucket) bool {
	if k.ownership() == bucketOwnerEnforced || k.blocks("IgnorePublicAcls") {
		return false
	}
	switch r.operation {
	case "GetObject", "HeadObject":
		o := k.objects[r.key]
		return o != nil && isPublicList(grantList(k.account, o.versions[0].acl))
	case "ListObjects", "ListObjectsV2", "HeadBucket":
		return isPublicList(k.acl())
	}
	return false
}
