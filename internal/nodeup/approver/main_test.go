package approver_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }
