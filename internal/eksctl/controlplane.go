package eksctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// logs are the logs of control planes.
// https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
var logs = []v1alpha1.EKSLog{
	v1alpha1.EKSLogAPI, v1alpha1.EKSLogAudit, v1alpha1.EKSLogAuthenticator, v1alpha1.EKSLogControllerManager, v1alpha1.EKSLogScheduler,
}

// controlPlane translates the settings of EKS.
func (c *cluster) controlPlane() {
	eks := c.result.Spec.ControlPlane.EKS
	if p := c.spec.Section("cloudWatch", watchFields); p != nil {
		if logging := p.Section("clusterLogging", loggingFields); logging != nil {
			eks.Logs = logsOf(logging)
			logging.Finish()
		}
		p.Finish()
	}
	if p := c.spec.Section("secretsEncryption", encryptionFields); p != nil {
		eks.SecretsKey = p.Text("keyARN")
		p.Finish()
	}
	eks.Support = v1alpha1.EKSExtended // the default of eksctl and of EKS
	if p := c.spec.Section("upgradePolicy", upgradeFields); p != nil {
		switch support := p.Text("supportType"); strings.ToUpper(support) {
		case "STANDARD":
			eks.Support = v1alpha1.EKSStandard
		case "EXTENDED", "":
		default:
			p.Refuse("supportType", "write STANDARD or EXTENDED")
		}
		p.Finish()
	}
	for name, table := range map[string]translation.Fields{
		"privateCluster": privateFields, "zonalShiftConfig": zonalFields, "addonsConfig": addonsFields,
		"controlPlaneScalingConfig": scalingFields,
	} {
		if p := c.spec.Section(name, table); p != nil {
			p.Finish()
		}
	}
}

// logsOf returns the logs that are enabled.
func logsOf(p *translation.Part) []v1alpha1.EKSLog {
	var enabled []v1alpha1.EKSLog
	for _, name := range p.Texts("enableTypes") {
		if name == "*" || name == "all" {
			return logs
		}
		i := slices.IndexFunc(logs, func(l v1alpha1.EKSLog) bool { return strings.EqualFold(string(l), name) })
		if i < 0 {
			p.Refuse("enableTypes", fmt.Sprintf("there is no log %s: use api, audit, authenticator, controllerManager, scheduler or all", name))
			continue
		}
		if !slices.Contains(enabled, logs[i]) {
			enabled = append(enabled, logs[i])
		}
	}
	return enabled
}

// iam translates what the roles of nodes and of the control plane have.
func (c *cluster) iam() {
	to := &c.result.Spec.IAM
	p := c.spec.Section("iam", iamFields)
	if p != nil {
		to.PermissionsBoundary = p.Text("serviceRolePermissionsBoundary")
		for _, one := range p.Sections("podIdentityAssociations", podIdentityFields) {
			c.podIdentity(one)
		}
	}
	for _, g := range c.groups {
		g.iam(to)
	}
	if p != nil {
		p.Finish()
	}
}
