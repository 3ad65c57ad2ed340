package wire

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzCredentials reads any credentials of a request without a panic: the header, and the query of a
// presigned URL. The canonical form does not depend on how a query is ordered.
func FuzzCredentials(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=AKIA1/20260102/eu-west-1/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature=00", "", "a=b")
	f.Add("AWS4-ECDSA-P256-SHA256 Credential=AKIA1/20260102/s3/aws4_request,SignedHeaders=,Signature", "*,eu", "")
	f.Add("AWS4-", "", "X-Amz-Credential=a/b/c/20260102/eu/sts/aws4_request&X-Amz-SignedHeaders=host&X-Amz-Signature=0&&%zz=%zz")
	f.Add("", "", "AWSAccessKeyId=a&Signature=b&b;c")
	f.Fuzz(func(t *testing.T, header, regions, query string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a%2Fb", http.NoBody)
		request.Header = http.Header{"Authorization": {header}, "X-Amz-Region-Set": {regions}}
		request.URL.RawQuery = query
		values, _ := url.ParseQuery(query) // As the router does: what is malformed is left out.
		s, ok := credentialsOf(request, values)
		if ok && !strings.Contains(header+query, s.accessKey) && !strings.Contains(query, "%") && !strings.Contains(query, "+") {
			t.Errorf("the access key %q comes from nowhere", s.accessKey)
		}
		first := canonicalQuery(query)
		parts := strings.Split(query, "&")
		for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
			parts[i], parts[j] = parts[j], parts[i]
		}
		if second := canonicalQuery(strings.Join(parts, "&")); first != second {
			t.Errorf("%q is %q, and %q in another order", query, first, second)
		}
	})
}

// FuzzXML reads any XML without a panic: what it accepts has a root.
func FuzzXML(f *testing.F) {
	f.Add("<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>")
	f.Add("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>")
	f.Add(strings.Repeat("<a>", 1000) + strings.Repeat("</a>", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		root, err := parseXML(strings.NewReader(text))
		if err == nil && root == nil || err != nil && root != nil {
			t.Errorf("%v, %v", root, err)
		}
	})
}
