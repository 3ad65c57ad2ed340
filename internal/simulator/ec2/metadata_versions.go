package ec2

import "strings"

// metadataVersions are the versions of the metadata service's paths, besides "latest". Each is a
// build in which categories were added. Programs request old ones: cloud-init, for example, tries
// 2021-03-23 first and falls back to 2009-04-04.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
var metadataVersions = []string{
	"1.0", "2007-01-19", "2007-03-01", "2007-08-29", "2007-10-10", "2007-12-15", "2008-02-01", "2008-09-01", "2009-04-04", "2011-01-01",
	"2011-05-01", "2012-01-12", "2014-02-25", "2014-11-05", "2015-10-20", "2016-04-19", "2016-06-30", "2016-09-02", "2018-03-28",
	"2018-08-17", "2018-09-24", "2019-10-01", "2020-10-27", "2021-01-03", "2021-03-23", "2021-07-15", "2022-09-24", "2024-04-11",
}

// released are the versions in which categories were released: each holds for a path and all paths
// below it, unless a longer one is listed. Categories that are not listed are in all versions.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html#instancedata-data-categories
var released = map[string]string{
	"dynamic":                                  "2009-04-04",
	"meta-data/block-device-mapping":           "2007-12-15",
	"meta-data/events/maintenance":             "2018-08-17",
	"meta-data/events/recommendations":         "2020-10-27",
	"meta-data/iam":                            "2012-01-12",
	"meta-data/instance-action":                "2008-09-01",
	"meta-data/instance-life-cycle":            "2019-10-01",
	"meta-data/instance-type":                  "2007-08-29",
	"meta-data/local-hostname":                 "2007-01-19",
	"meta-data/mac":                            "2011-01-01",
	"meta-data/network":                        "2011-01-01",
	"meta-data/placement":                      "2008-02-01",
	"meta-data/placement/availability-zone-id": "2019-10-01",
	"meta-data/placement/group-name":           "2020-08-24",
	"meta-data/placement/partition-number":     "2020-08-24",
	"meta-data/placement/region":               "2020-08-24",
	"meta-data/public-hostname":                "2007-01-19",
	"meta-data/public-ipv4":                    "2007-01-19",
	"meta-data/services/domain":                "2014-02-25",
	"meta-data/services/partition":             "2015-10-20",
	"meta-data/spot":                           "2014-11-05",
	"meta-data/spot/instance-action":           "2016-11-15",
	"meta-data/system":                         "2022-09-24",
	"meta-data/tags":                           "2021-03-23",
}

// inVersion reports whether a version of the service has a path.
func inVersion(version, path string) bool {
	if version == latestVersion {
		return true
	}
	for {
		if since, ok := released[path]; ok {
			return since <= version // "1.0" sorts before all dates
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return true
		}
		path = path[:i]
	}
}
