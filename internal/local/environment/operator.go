package environment

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/process"
)

// The operator is ready once its CRDs are served and its caches are filled.
const (
	operatorReadyWithin = time.Minute
	operatorProbeEvery  = 50 * time.Millisecond
)

// adoptable are the types of the built-in kinds' resources that objects may adopt.
var adoptable = []string{
	"AWS::DynamoDB::Table", "AWS::ECR::Repository", "AWS::EFS::FileSystem", "AWS::Kinesis::Stream", "AWS::KMS::Key",
	"AWS::OpenSearchService::Domain", "AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::S3::Bucket", "AWS::SecretsManager::Secret",
	"AWS::SNS::Topic", "AWS::SQS::Queue",
}

// startOperator runs the operator as a separate process, as in a cluster: it can be killed, and it
// shares nothing with the simulator.
func (e *Environment) startOperator(ctx context.Context) (string, error) {
	if e.opts.Operator == "" {
		return "not started", nil
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		return "", err
	}
	metrics, probes := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	args := []string{
		"aws-operator", "operator", "--log-format=text",
		"--metrics-bind-address=" + metrics, "--health-probe-bind-address=" + probes,
		// There is one user, and AWS is simulated.
		"--user-templates-allowed-types=*", "--allow-roles=*=arn:*", "--service-account-issuer=" + controlplane.Issuer,
	}
	for _, kind := range adoptable {
		args = append(args, "--allow-adoption=*="+kind+"/*")
	}
	if e.programs.NodeupDir != "" {
		args = append(args, "--nodeup-dir="+e.programs.NodeupDir)
	}
	if err := e.aws.trustIssuer(ctx); err != nil {
		return "", err
	}
	key, err := e.aws.operatorKey(ctx)
	if err != nil {
		return "", err
	}
	env := append(withoutAWS(os.Environ()), Credentials(e.aws.url, e.aws.names)...)
	env = append(env, "AWS_ACCESS_KEY_ID="+*key.AccessKeyId, "AWS_SECRET_ACCESS_KEY="+*key.SecretAccessKey) // the last ones count
	e.operator, err = process.Start(process.Spec{
		Name: "operator", Path: e.opts.Operator,
		Args:    args,
		Env:     append(env, "KUBECONFIG="+e.folder.path(kubeconfigFile)),
		LogFile: e.folder.path(operatorLog),
	})
	if err != nil {
		return "", err
	}
	if err := e.awaitOperator(ctx, "http://"+probes+"/readyz"); err != nil {
		return "", err
	}
	e.state.OperatorPID = e.operator.PID()
	e.state.Metrics = "http://" + metrics + "/metrics"
	return fmt.Sprintf("process %d, log in %s", e.operator.PID(), operatorLog), nil
}

func (e *Environment) awaitOperator(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, operatorReadyWithin)
	defer cancel()
	ticker := e.opts.Clock.NewTicker(operatorProbeEvery)
	defer ticker.Stop()
	for !ready(ctx, url) {
		select {
		case <-e.operator.Done():
			return e.operator.Err()
		case <-ctx.Done():
			return fmt.Errorf("it is not ready; its log is %s: %w", e.folder.path(operatorLog), ctx.Err())
		case <-ticker.C():
		}
	}
	return nil
}

func ready(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// withoutAWS removes variables that configure the real AWS or another cluster.
func withoutAWS(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, variable := range env {
		if !strings.HasPrefix(variable, "AWS_") && !strings.HasPrefix(variable, "KUBECONFIG=") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// OperatorLog returns the last lines of the operator's log.
func (e *Environment) OperatorLog() string {
	if e.operator == nil {
		return "  (none runs)"
	}
	return e.operator.LastWords(15)
}
