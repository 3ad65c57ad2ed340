package render

import (
	"errors"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

var errUnfinished = errors.New("not rendered yet")

func base(*model.Cluster) (*Stack, error) { return nil, errUnfinished }

func slotStack(*model.Cluster, int, map[string]string, string) (*Stack, error) {
	return nil, errUnfinished
}

func groupStack(*model.Cluster, *model.Group, map[string]string, string) (*Stack, error) {
	return nil, errUnfinished
}
