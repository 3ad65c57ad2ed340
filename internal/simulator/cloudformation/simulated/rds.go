package simulated

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// databasePort returns the port on which an instance or cluster of RDS accepts connections: the one in
// its properties, or the default of its engine.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html
func databasePort(properties map[string]any) string {
	if port, given := properties["Port"]; given {
		return fmt.Sprint(port)
	}
	engine, _ := properties["Engine"].(string)
	for part, port := range map[string]string{"postgres": "5432", "oracle": "1521", "sqlserver": "1433", "db2": "50000"} {
		if strings.Contains(engine, part) {
			return port
		}
	}
	return "3306"
}

// managedSecret returns the ARN of the secret in which RDS keeps the password of a master user.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-secrets-manager.html
func (n *namer) managedSecret() string {
	of := "db"
	if strings.HasSuffix(n.t.Name, "DBCluster") {
		of = "cluster"
	}
	return "arn:aws:secretsmanager:" + n.r.Region + ":" + n.r.Account + ":secret:rds!" + of + "-" + uuid.NewString() + "-" + randomBase36(6)
}
